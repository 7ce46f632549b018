import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { GrowingFile } from "./watch.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true });
});

function fileWith(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), "watch-"));
  dirs.push(dir);
  writeFileSync(join(dir, "log"), text);
  return join(dir, "log");
}

test("TX-WATCH-1: whole lines, each once; half a line waits for its end", async () => {
  const path = fileWith("old\n");
  const file = new GrowingFile(path, 4);
  expect(await file.next()).toBe("");
  appendFileSync(path, "one\ntwo\nhal");
  expect(await file.next()).toBe("one\ntwo\n");
  expect(await file.next()).toBe("");
  appendFileSync(path, "f – ü\n");
  expect(await file.next()).toBe("half – ü\n");
});

test("TX-WATCH-1: a file that was cut or replaced is read from its beginning; one that is not there has nothing yet", async () => {
  const path = fileWith("one\ntwo\n");
  const file = new GrowingFile(path, 8);
  expect(await file.next()).toBe("");
  writeFileSync(path, "new\n");
  expect(await file.next()).toBe("new\n");
  writeFileSync(`${path}.2`, "rotated, and longer than before\n");
  renameSync(`${path}.2`, path);
  expect(await file.next()).toBe("rotated, and longer than before\n");
  rmSync(path);
  expect(await file.next()).toBe("");
});

test("a line without end is given in pieces", async () => {
  const file = new GrowingFile(fileWith("x".repeat(70_000)), 0);
  expect([(await file.next()).length, await file.next()]).toEqual([65_536, ""]);
});
