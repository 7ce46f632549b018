import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { searchMemory } from "../../src/memory/search.ts";
import { filesBelow } from "../../src/runtime/mesh-output.ts";
import { agentMemoryFiles } from "../../src/store/memory-files.ts";
import { humanScope } from "../../src/store/scope.ts";
import { fileTools } from "../../src/tools/files.ts";
import { scopeTeam } from "./scope-team.ts";

/** As a command makes one: deeper than any path can name. */
function deepTree(folder: string, levels: number): Disposable {
  const script = `for (let i = 0; i < ${levels}; i++) { fs.mkdirSync("d"); process.chdir("d"); }`;
  execFileSync(process.execPath, ["-e", script], { cwd: folder });
  return { [Symbol.dispose]: () => void execFileSync("rm", ["-rf", join(folder, "d")]) };
}

/**
 * The longest stretch of processor time that the main thread spent without letting others have a turn, in milliseconds.
 * Processor time, since on a busy machine a process waits for reasons of its own.
 */
async function longestTurn(act: () => Promise<unknown>): Promise<number> {
  let [longest, isOver] = [0, false];
  const turns = (async () => {
    while (!isOver) {
      const before = process.threadCpuUsage();
      await new Promise((resolve) => setImmediate(resolve));
      const { user, system } = process.threadCpuUsage(before);
      longest = Math.max(longest, (user + system) / 1000);
    }
  })();
  await act();
  isOver = true;
  await turns;
  return longest;
}

const MOST_MS = 50;

test("a tree 3,000 folders deep holds nobody up: listing, serving, searching", async () => {
  await using team = await scopeTeam();
  const scratch = join(team.runDir, "nodes/node-1/scratch");
  using _inScratch = deepTree(scratch, 3000);
  using _inMemory = deepTree(join(team.agentDir, "memory"), 100);
  const list = fileTools(team.alice).find(({ spec }) => spec.name === "list_files");
  const listed = () => list?.run({ path: "scratch", recursive: true }, new AbortController().signal);

  expect(await longestTurn(async () => listed())).toBeLessThan(MOST_MS);
  expect(await listed()).toMatch(/\[Folders that lie too deep are not opened, the first of them scratch(\/d){65}\./);
  const served = () => humanScope(team.agentDir).list("", { recursive: true, limit: 10_000 });
  expect(await longestTurn(served)).toBeLessThan(MOST_MS);
  expect((await served()).tooDeep).toBeDefined();
  const search = () => searchMemory(agentMemoryFiles(team.agentDir), "facts", { tokens: 100 });
  await search();
  expect(await longestTurn(search)).toBeLessThan(MOST_MS);
  expect(await longestTurn(() => filesBelow(scratch))).toBeLessThan(MOST_MS);
});

test("a folder of 12,000 names holds nobody up while it is listed", async () => {
  await using team = await scopeTeam();
  const many = join(team.agentDir, "many");
  mkdirSync(many);
  for (let number = 0; number < 12_000; number++) writeFileSync(join(many, `${number}`), "");
  const scope = humanScope(team.agentDir);

  expect(await longestTurn(() => scope.list("many", { limit: 10_000 }))).toBeLessThan(MOST_MS);
});
