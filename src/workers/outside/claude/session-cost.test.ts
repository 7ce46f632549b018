import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../../testing/temporary-home.ts";
import { costBefore } from "./session-cost.ts";

/* As version 2.1.325 writes it; the real one is in test/outside/claude-cost.test.ts. */
const noted = (totalCostUSD: number) => JSON.stringify({ type: "cost-state", sessionId: "s-1", totalCostUSD });

test("the last total that Claude Code noted in a session's file is the base of the next", async () => {
  await using home = await temporaryHome();
  const folder = join(home.path, ".claude/projects/-work");
  await mkdir(folder, { recursive: true });
  const long = JSON.stringify({ type: "user", text: "x".repeat(1_500_000) });
  const forged = JSON.stringify({ type: "user", text: 'She said: {"type":"cost-state","totalCostUSD":9}' });
  await writeFile(join(folder, "s-1.jsonl"), [noted(0.5), long, noted(0.75), forged, "{broken", ""].join("\n"));
  await writeFile(join(folder, "s-2.jsonl"), `${long}\n`);
  expect([
    await costBefore(home.path, "s-1"),
    await costBefore(home.path, "s-2"),
    await costBefore(home.path, "s-3"),
  ]).toEqual([0.75, null, null]);
});
