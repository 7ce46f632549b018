import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { coordinatorScope } from "../scope/team-scopes.ts";
import { agentMemoryFiles, workerMemoryFiles } from "./memory-files.ts";

let dir: string;

beforeEach(async () => {
  const home = await temporaryHome();
  dir = join(home.path, "agents", "agent-test");
  for (const folder of ["memory/knowledge", "runs/run-1/workers/alice", ".index"])
    mkdirSync(join(dir, folder), { recursive: true });
  return () => home.remove();
});

const put = (path: string) => writeFileSync(join(dir, path), path);
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: Error) => error.name,
  );

test("an agent's memory is MEMORY.md and the markdown in memory/, and no link leads out of it", async () => {
  for (const path of ["SOUL.md", "MEMORY.md", "memory/a.md", "memory/knowledge/b.md", "memory/.c.md", "memory/d.txt"])
    put(path);
  symlinkSync(join(dir, "SOUL.md"), join(dir, "memory", "soul.md"));
  symlinkSync(dir, join(dir, "memory", "home"));
  linkSync(join(dir, "SOUL.md"), join(dir, "memory", "hard.md"));
  const memory = agentMemoryFiles(dir);
  expect((await memory.list()).map(({ path, bytes }) => [path, bytes])).toEqual([
    ["MEMORY.md", 9],
    ["a.md", 11],
    ["hard.md", 7],
    ["knowledge/b.md", 21],
  ]);
  const outside = ["soul.md", "home/SOUL.md", "hard.md", "../SOUL.md"].map((path) =>
    refusal(memory.scope.readFile(path, { maxBytes: 100 })),
  );
  expect(await Promise.all(outside)).toEqual(Array(4).fill("ScopeRefusal"));
  expect([memory.inHome("MEMORY.md"), memory.inHome("a.md")]).toEqual(["MEMORY.md", "memory/a.md"]);
});

test("a worker's memory is its own two files", async () => {
  for (const name of ["memory.md", "notebook.md", "identity.md"]) put(`runs/run-1/workers/alice/${name}`);
  const memory = workerMemoryFiles(dir, "run-1", "alice");
  expect((await memory.list()).map(({ path }) => memory.inHome(path))).toEqual([
    "runs/run-1/workers/alice/memory.md",
    "runs/run-1/workers/alice/notebook.md",
  ]);
});

test("nobody's file tools reach the index", async () => {
  put(".index/memory.sqlite");
  const scope = coordinatorScope({ agentDir: dir, runId: "run-1", project: null });
  expect(await refusal(scope.readFile("agent/.index/memory.sqlite", { maxBytes: 1 }))).toBe("ScopeRefusal");
  expect(await refusal(scope.writeFile("agent/.index/memory.sqlite", "x"))).toBe("ScopeRefusal");
  expect((await scope.list("agent", { limit: 100 })).entries.map(({ path }) => path)).toEqual([
    "agent/memory",
    "agent/runs",
  ]);
});
