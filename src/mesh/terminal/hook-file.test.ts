import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { HookFile } from "./hook-file.ts";

const MB = 1024 * 1024;

test("a long file is read to its end at once; a line that is too long is skipped, and one that is not whole waits", async () => {
  const dir = mkdtempSync(join(tmpdir(), "hooks-"));
  const path = join(dir, "hooks.ndjson");
  const line = (name: string, bytes = 0) => `${JSON.stringify({ hook_event_name: name, prompt: "x".repeat(bytes) })}\n`;
  writeFileSync(path, line("A", 3 * MB) + line("B", 3 * MB) + line("TooLong", 9 * MB) + line("C"));
  appendFileSync(path, '{"hook_event_');
  const heard: string[] = [];
  const file = new HookFile(path, (hook) => heard.push(hook.hook_event_name));
  onTestFinished(() => {
    file.close();
    rmSync(dir, { recursive: true });
  });
  await file.open();
  expect(heard).toEqual(["A", "B", "C"]);
  appendFileSync(path, 'name": "D"}\n');
  await file.read();
  expect(heard).toEqual(["A", "B", "C", "D"]);
});
