import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { searchMemory } from "../../src/memory/search.ts";
import { filesBelow } from "../../src/runtime/meshes/output-files.ts";
import { agentMemoryFiles } from "../../src/store/run/memory-files.ts";
import { humanScope } from "../../src/store/scope/team-scopes.ts";
import { fileTools } from "../../src/tools/files.ts";
import { scopeTeam } from "./scope-team.ts";

/** As a command makes one. */
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

/** `AGIRAPH_LEVELS=3000` is the tree of the attack; a third of it held everybody up for three seconds. */
const LEVELS = Number(process.env.AGIRAPH_LEVELS ?? 1000);

test("a very deep tree holds nobody up: listing, serving, searching", async () => {
  await using team = await scopeTeam();
  const scratch = join(team.runDir, "nodes/node-1/scratch");
  using _inScratch = deepTree(scratch, LEVELS);
  using _inMemory = deepTree(join(team.agentDir, "memory"), 100);
  const list = fileTools(team.alice).find(({ spec }) => spec.name === "list_files");
  const listed = () => list?.run({ path: "scratch", recursive: true }, new AbortController().signal);

  expect(await longestTurn(async () => listed())).toBeLessThan(MOST_MS);
  expect(await listed()).toMatch(/\[Folders that lie too deep are not opened, the first of them scratch(\/d){65}\./);
  const served = () => humanScope(team.agentDir).list("", { recursive: true, limit: 10_000 });
  expect(await longestTurn(served)).toBeLessThan(MOST_MS);
  expect((await served()).tooDeep).toBeDefined();
  const search = () => searchMemory(agentMemoryFiles(team.agentDir), "facts", { timeZone: "UTC", tokens: 100 });
  await search();
  expect(await longestTurn(search)).toBeLessThan(MOST_MS);
  expect(await longestTurn(() => filesBelow(scratch))).toBeLessThan(MOST_MS);
});
