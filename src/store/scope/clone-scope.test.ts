import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { workerScope } from "./team-scopes.ts";

const RUN = "runs/run-1";
const CLONE = `${RUN}/nodes/node-1/repo`;

async function cloneScope(files: Readonly<Record<string, string>>) {
  const home = await temporaryHome();
  const agentDir = join(home.path, "agents/agent-test");
  mkdirSync(join(agentDir, RUN, "nodes/node-1/scratch"), { recursive: true });
  mkdirSync(join(agentDir, RUN, "workers/ann"), { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(agentDir, CLONE, path, ".."), { recursive: true });
    writeFileSync(join(agentDir, CLONE, path), content);
  }
  const scope = workerScope({
    ...{ agentDir, runId: "run-1", nodeId: "node-1", workerId: "ann", project: "/nowhere", hasClone: true },
  });
  const read = async (path: string) => (await scope.readFile(path, { maxBytes: 100 })).bytes.toString("utf8");
  const list = async (path: string) =>
    (await scope.list(path, { limit: 100, recursive: true })).entries.map((entry) => entry.path);
  return { home, scope, read, list, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

test("who works in a clone finds it under project/ too, as the coordinator calls the person's folder", async () => {
  await using clone = await cloneScope({ "docs/a.md": "A" });
  expect([await clone.read("docs/a.md"), await clone.read("project/docs/a.md")]).toEqual(["A", "A"]);
  expect(await clone.list("project")).toContain("docs/a.md");
  await clone.scope.writeFile("project/docs/b.md", "B");
  expect(await clone.read("docs/b.md")).toBe("B");
});

test("a clone that is named is listed as it is, with the files that have our short names", async () => {
  await using clone = await cloneScope({ "docs/a.md": "A", "memory.md": "theirs", "nodes/b.md": "B" });
  const { entries } = await clone.scope.list("repo", { limit: 100 });
  expect(entries.map(({ path }) => path)).toEqual(["repo/docs", "repo/memory.md", "repo/nodes"]);
  expect(await clone.list("repo")).toContain("repo/nodes/b.md");
  expect(await clone.read("repo/memory.md")).toBe("theirs");
  expect(await clone.list("")).not.toContain("nodes/b.md");
});

test("a repository that has a folder project/ of its own is read and listed as it is", async () => {
  await using clone = await cloneScope({ "project/a.md": "own", "a.md": "top" });
  expect([await clone.read("project/a.md"), await clone.read("a.md")]).toEqual(["own", "top"]);
  expect(await clone.list("")).toContain("project/a.md");
  await expect(clone.read("project/docs/b.md")).rejects.toThrow("project/docs/b.md");
});
