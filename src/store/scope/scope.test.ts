import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { canaryOf, filesOf, type ScopeTeam, scopeTeam } from "../../../test/faults/scope-team.ts";
import { MAX_WRITE_BYTES } from "./file-scope.ts";
import type { Scope, ScopeBinds } from "./scope.ts";
import { FileNotFound, ScopeRefusal } from "./scope-refusal.ts";
import { coordinatorScope } from "./team-scopes.ts";

const RUN = "home/agents/agent-test/runs/run-1/";

test("a worker reads its node, what others published, its own files, the plan, the messages and the project", async () => {
  await using team = await scopeTeam();

  expect(await readable(team.alice, runPath)).toEqual([
    `${RUN}_plan.md`,
    `${RUN}_messages/0001.md`,
    `${RUN}nodes/node-1/_spec.md`,
    `${RUN}nodes/node-1/_refs.json`,
    `${RUN}nodes/node-1/_status.md`,
    `${RUN}nodes/node-1/log.jsonl`,
    `${RUN}nodes/node-1/scratch/draft.md`,
    `${RUN}nodes/node-1/scratch/deep/data.jsonl`,
    `${RUN}nodes/node-1/published/report.md`,
    `${RUN}nodes/node-2/published/report.md`,
    `${RUN}workers/alice/identity.md`,
    `${RUN}workers/alice/memory.md`,
    `${RUN}workers/alice/notebook.md`,
    `${RUN}workers/alice/history.json`,
    `${RUN}workers/alice/conversation.jsonl`,
    "project/README.md",
    "project/src/main.ts",
  ]);
});

test("a worker writes its scratch and its own files, and never the record", async () => {
  await using team = await scopeTeam();

  expect(await writable(team, team.alice, runPath)).toEqual([
    `${RUN}nodes/node-1/scratch/draft.md`,
    `${RUN}nodes/node-1/scratch/deep/data.jsonl`,
    `${RUN}workers/alice/identity.md`,
    `${RUN}workers/alice/memory.md`,
    `${RUN}workers/alice/notebook.md`,
  ]);
});

test("the coordinator reads its whole home and the project, and nothing beside them", async () => {
  await using team = await scopeTeam();
  const its = filesOf().filter((file) => file.startsWith("home/agents/agent-test/"));

  expect(await readable(team.coordinator, agentPath)).toEqual([...its, "project/README.md", "project/src/main.ts"]);
});

test("the coordinator writes its home but not its goal, the run's own files and specs; not the record, nor what is its workers'", async () => {
  await using team = await scopeTeam();

  expect(await writable(team, team.coordinator, agentPath)).toEqual([
    "home/agents/agent-test/SOUL.md",
    "home/agents/agent-test/MEMORY.md",
    "home/agents/agent-test/memory/facts.md",
    `${RUN}_plan.md`,
    `${RUN}_output.md`,
    `${RUN}notes/idea.md`,
    `${RUN}nodes/node-1/_spec.md`,
    `${RUN}nodes/node-2/_spec.md`,
  ]);
});

test("a worker's own things have short names", async () => {
  await using team = await scopeTeam();
  const short = ["scratch/draft.md", "published/report.md", "_spec.md", "_refs.json"];
  const own = ["notebook.md", "memory.md", "identity.md"];

  expect(await Promise.all([...short, ...own].map((path) => text(team.alice, path)))).toEqual([
    ...short.map((path) => canaryOf(`${RUN}nodes/node-1/${path}`)),
    ...own.map((path) => canaryOf(`${RUN}workers/alice/${path}`)),
  ]);
});

test("a refusal says what, why, and what to do instead", async () => {
  await using team = await scopeTeam();

  expect({
    otherScratch: await refusalOf(team.alice.readFile("nodes/node-2/scratch/draft.md", { maxBytes: 9 })),
    astray: await refusalOf(team.alice.writeFile("report.md", "x")),
    published: await refusalOf(team.alice.writeFile("published/report.md", "x")),
    memory: await refusalOf(team.alice.readFile("agent/MEMORY.md", { maxBytes: 9 })),
    project: await refusalOf(team.coordinator.writeFile("project/README.md", "x")),
    env: await refusalOf(team.coordinator.readFile("project/.env", { maxBytes: 9 })),
    folder: await refusalOf(team.alice.readFile("scratch/deep", { maxBytes: 9 })),
    overFolder: await refusalOf(team.alice.writeFile("scratch/deep", "x")),
    throughFile: await refusalOf(team.alice.writeFile("scratch/draft.md/x", "x")),
    shouted: await refusalOf(team.alice.writeFile("nodes/node-1/SCRATCH/x", "x")),
    noNode: await refusalOf(team.coordinator.writeFile("nodes/node-9/_spec.md", "x")),
  }).toEqual({
    otherScratch:
      "You may not read nodes/node-2/scratch/draft.md. Of another node you may read only published/; ask its worker or the coordinator for the rest.",
    astray:
      "You may not write report.md. It is the coordinator's, or it does not exist. You may write to scratch/…, e.g. scratch/report.md, and to your own notebook.md and memory.md.",
    published:
      "You may not write published/report.md. What is published is final. You may write to scratch/…, e.g. scratch/report.md, and to your own notebook.md and memory.md.",
    memory: "You may not read agent/MEMORY.md. The agent's folder and memory are the coordinator's; ask it.",
    project:
      "You may not write project/README.md. The project is the user's; you only read it. You may write the run's own files, e.g. output/report.md or notes/findings.md, a node's _spec.md, agent/MEMORY.md and agent/memory/…",
    env: "project/.env is not yours to see: names that begin with a dot are left out of the project.",
    folder: "scratch/deep is a folder. Use list_files to see what is in it.",
    overFolder: "scratch/deep is a folder. Use list_files to see what is in it.",
    throughFile: "scratch/draft.md/x cannot be reached: a part of it is a file, not a folder.",
    shouted:
      "You may not write nodes/node-1/SCRATCH/x. Upper and lower case count: it is written runs/run-1/nodes/node-1/scratch/**. You may write to scratch/…, e.g. scratch/x, and to your own notebook.md and memory.md.",
    noNode: "There is no nodes/node-9/_spec.md. In nodes there is: node-1/, node-2/.",
  });
});

test("a file that is not there is answered with what is near it, and never with what may not be seen", async () => {
  await using team = await scopeTeam();

  expect([
    await refusalOf(team.alice.readFile("scratch/drafd.md", { maxBytes: 9 })),
    await refusalOf(team.alice.readFile("scratch/no/such/thing.md", { maxBytes: 9 })),
    await refusalOf(team.alice.readFile("nodes/node-2/published/raport.md", { maxBytes: 9 })),
    await refusalOf(team.alice.readFile("project/readme.txt", { maxBytes: 9 })),
  ]).toEqual([
    "There is no scratch/drafd.md. In scratch there is: draft.md, deep/.",
    "There is no scratch/no/such/thing.md. In scratch there is: deep/, draft.md.",
    "There is no nodes/node-2/published/raport.md. In nodes/node-2/published there is: report.md.",
    "There is no project/readme.txt. In project there is: README.md, src/.",
  ]);
});

test("a listing shows what may be read and what leads there", async () => {
  await using team = await scopeTeam();
  const paths = async (path: string, recursive = false) =>
    (await team.alice.list(path, { recursive, limit: 100 })).entries.map((entry) => entry.path);

  expect(await paths("")).toEqual([
    ...["_messages", "_plan.md", "_refs.json", "_spec.md", "identity.md", "memory.md", "nodes", "notebook.md"],
    ...["project", "published", "scratch", "workers"],
  ]);
  expect(await paths("nodes/node-2", true)).toEqual(["nodes/node-2/published", "nodes/node-2/published/report.md"]);
  expect(await paths("workers")).toEqual(["workers/alice"]);
  expect(await paths("project", true)).toEqual(["project/README.md", "project/src", "project/src/main.ts"]);
  expect(await team.alice.list("./scratch/", { recursive: true, limit: 100 })).toEqual({
    entries: [
      { path: "scratch/deep", kind: "folder", bytes: 0 },
      {
        path: "scratch/deep/data.jsonl",
        kind: "file",
        bytes: canaryOf(`${RUN}nodes/node-1/scratch/deep/data.jsonl`).length,
      },
      { path: "scratch/draft.md", kind: "file", bytes: canaryOf(`${RUN}nodes/node-1/scratch/draft.md`).length },
    ],
    more: false,
  });
  await expect(team.alice.list("workers/bob", { limit: 9 })).rejects.toThrow(ScopeRefusal);
  await expect(team.alice.list("agent", { limit: 9 })).rejects.toThrow(ScopeRefusal);
  expect((await team.coordinator.list("", { limit: 100 })).entries.map((entry) => entry.path)).toEqual([
    ...["_messages", "_output.md", "_plan.md", "agent", "nodes", "notes", "output", "project", "workers"],
  ]);
});

test("an absolute path, as commands print it, is the file it names where that is in the scope, and refused elsewhere", async () => {
  await using team = await scopeTeam();
  const { alice, coordinator, runDir, agentDir, project, base } = team;
  symlinkSync(team.home, join(base, "home-link"));
  const read = async (scope: typeof alice, path: string) =>
    (await scope.readFile(path, { maxBytes: 200 })).bytes.toString();

  expect(await read(alice, join(runDir, "nodes/node-1/scratch/draft.md"))).toBe(
    canaryOf("home/agents/agent-test/runs/run-1/nodes/node-1/scratch/draft.md"),
  );
  expect(await read(alice, join(project, "src/main.ts"))).toBe(canaryOf("project/src/main.ts"));
  expect(await read(coordinator, join(agentDir, "runs/run-2/_plan.md"))).toBe(
    canaryOf("home/agents/agent-test/runs/run-2/_plan.md"),
  );
  // What agent/ and project/ are called in the coordinator's bash.
  expect(await read(coordinator, join(runDir, "agent/runs/run-2/_plan.md"))).toBe(
    canaryOf("home/agents/agent-test/runs/run-2/_plan.md"),
  );
  expect(await read(coordinator, join(runDir, "project/src/main.ts"))).toBe(canaryOf("project/src/main.ts"));
  await alice.writeFile(join(runDir, "nodes/node-1/scratch/new.md"), "x");
  expect(await read(alice, "scratch/new.md")).toBe("x");
  expect(
    (await alice.list(join(runDir, "nodes/node-1/scratch"), { limit: 9 })).entries.map(({ path }) => path),
  ).toEqual(["scratch/deep", "scratch/draft.md", "scratch/new.md"]);
  for (const path of [
    join(runDir, "nodes/node-2/scratch/draft.md"),
    join(runDir, "workers/bob/memory.md"),
    join(agentDir, "MEMORY.md"),
    join(agentDir, "runs/run-2/_plan.md"),
    join(project, ".env"),
    `${project}/../outside.txt`,
    `${runDir}/nodes/node-1/scratch/../../node-2/scratch/draft.md`,
    `${runDir}x/_plan.md`,
    join(runDir, "project/README.md"),
    join(base, "home-link/token"),
    join(team.home, "token"),
    "/etc/passwd",
    "/",
  ])
    await expect(read(alice, path), path).rejects.toThrow();
});

test("a limit cuts a listing's depths, and says so", async () => {
  await using team = await scopeTeam();

  const { entries, more } = await team.coordinator.list("nodes", { recursive: true, limit: 3 });
  expect([entries.map((entry) => entry.path), more]).toEqual([
    ["nodes/node-1", "nodes/node-1/_refs.json", "nodes/node-2"],
    true,
  ]);
});

test("a write is whole, makes its folders, keeps its mode, and leaves nothing beside it", async () => {
  await using team = await scopeTeam();
  const scratch = join(team.runDir, "nodes/node-1/scratch");
  chmodSync(join(scratch, "draft.md"), 0o755);

  await team.alice.writeFile("scratch/a/b/c.md", "grüße");
  await team.alice.writeFile("scratch/draft.md", "#!/bin/sh");

  expect(readFileSync(join(scratch, "a/b/c.md"), "utf8")).toBe("grüße");
  expect(["a", "a/b/c.md", "draft.md"].map((path) => statSync(join(scratch, path)).mode & 0o777)).toEqual([
    0o700, 0o600, 0o755,
  ]);
  expect(readdirSync(scratch, { recursive: true }).sort()).toEqual([
    "a",
    "a/b",
    "a/b/c.md",
    "deep",
    "deep/data.jsonl",
    "draft.md",
  ]);
});

test("what is too large is refused, what is large is read in part", async () => {
  await using team = await scopeTeam();

  expect(await refusalOf(team.alice.writeFile("scratch/big", Buffer.alloc(MAX_WRITE_BYTES + 1)))).toMatch(
    "at most 10485760 are allowed",
  );
  expect(await team.alice.readFile("project/README.md", { maxBytes: 6 })).toEqual({
    bytes: Buffer.from("CANARY"),
    size: canaryOf("project/README.md").length,
    truncated: true,
  });
});

test("one file has one name here, and either name in the user's project", async () => {
  await using team = await scopeTeam();
  const [composed, decomposed] = ["caf\u00e9.md", "cafe\u0301.md"];
  writeFileSync(join(team.project, decomposed), "as the user's disk spells it");

  await team.alice.writeFile(`scratch/${decomposed}`, "one");
  await team.alice.writeFile(`scratch/${composed}`, "two");

  expect(readdirSync(join(team.runDir, "nodes/node-1/scratch"))).toEqual([composed, "deep", "draft.md"]);
  expect(await text(team.alice, `project/${composed}`)).toBe("as the user's disk spells it");
});

test("our home inside the project is not part of the project", async () => {
  await using team = await scopeTeam();
  const whole = coordinatorScope({ agentDir: team.agentDir, runId: "run-1", project: team.base });
  const inside = coordinatorScope({ agentDir: team.agentDir, runId: "run-1", project: team.agentDir });

  expect(await refusalOf(whole.readFile("project/home/token", { maxBytes: 9 }))).toBe(
    "project/home/token is not yours to see: it is Agiraph's own home, which is no part of the project.",
  );
  expect((await whole.list("project", { recursive: true, limit: 100 })).entries.map((entry) => entry.path)).toEqual([
    ...[
      "project/outside.txt",
      "project/project",
      "project/project/README.md",
      "project/project/src",
      "project/project/src/main.ts",
    ],
  ]);
  expect(await refusalOf(inside.readFile("project/MEMORY.md", { maxBytes: 9 }))).toMatch("Agiraph's own home");
  const binds = await whole.binds();
  expect([binds.hide, shownOf(binds)]).toEqual([
    [join(team.base, "home")],
    ["outside.txt (file)", "project", "project/README.md (file)", "project/src", "project/src/main.ts (file)"],
  ]);
  const { read, laidOut } = await inside.binds();
  expect([read.includes(join(team.agentDir, "memory")), laidOut]).toEqual([false, []]);
});

test("without a project there is none", async () => {
  await using team = await scopeTeam();
  const scope = coordinatorScope({ agentDir: team.agentDir, runId: "run-1", project: null });

  expect(await refusalOf(scope.readFile("project/README.md", { maxBytes: 9 }))).toBe(
    "project/README.md is not there: this agent was started without a project folder.",
  );
  expect((await scope.list("", { limit: 100 })).entries.map((entry) => entry.path)).not.toContain("project");
});

test("a worker's shell gets the same scope: its scratch and its files, others' published folders, the project", async () => {
  await using team = await scopeTeam();
  const run = (path: string) => join(team.runDir, path);

  const { laidOut, ...binds } = await team.alice.binds();
  expect(binds).toEqual({
    write: [run("nodes/node-1/scratch"), run("workers/alice")],
    read: [
      "workers/alice/conversation.jsonl",
      "workers/alice/history.json",
      "nodes/node-2/published",
      "_messages",
      "nodes/node-1",
    ].map(run),
    hide: [],
    omitted: [],
    cwd: run("nodes/node-1/scratch"),
  });
  expect([laidOut?.map(({ at }) => at), shownOf({ laidOut })]).toEqual([
    [team.project],
    ["README.md (file)", "src", "src/main.ts (file)"],
  ]);
});

test("the coordinator's shell writes the run root, but not what is in it of others", async () => {
  await using team = await scopeTeam();
  const run = (path: string) => join(team.runDir, path);

  const { laidOut, ...binds } = await team.coordinator.binds();
  expect(binds).toEqual({
    write: [team.runDir],
    read: [team.agentDir, run("nodes"), run("workers"), run("_messages")],
    // By these names the file tools know them.
    mirrors: [
      { at: run("agent"), of: team.agentDir },
      { at: run("project"), of: team.project },
    ],
    hide: [],
    omitted: [],
    cwd: team.runDir,
  });
  expect(shownOf({ laidOut })).toEqual(["README.md (file)", "src", "src/main.ts (file)"]);
});

test("a folder whose record cannot be covered is not writable in the shell", async () => {
  await using team = await scopeTeam();
  const fresh = coordinatorScope({ agentDir: team.agentDir, runId: "run-3", project: null });
  mkdirSync(join(team.agentDir, "runs/run-3"));

  expect(await fresh.binds()).toMatchObject({ write: [], read: [team.agentDir], hide: [], laidOut: [] });
});

test("a worker whose conversation could be forged from the shell cannot write its folder there", async () => {
  await using team = await scopeTeam();
  rmSync(join(team.runDir, "workers/alice/conversation.jsonl"));

  expect((await team.alice.binds()).write).toEqual([join(team.runDir, "nodes/node-1/scratch")]);
  expect((await team.alice.binds()).read).toContain(join(team.runDir, "workers/alice"));
});

test("a folder that is missing cannot be replaced by a file", async () => {
  await using team = await scopeTeam();
  rmSync(join(team.runDir, "nodes/node-1/scratch"), { recursive: true });

  expect(await refusalOf(team.alice.writeFile("scratch", "x"))).toMatch("You may not write scratch. It is a folder.");
  expect(await refusalOf(team.coordinator.writeFile("agent", "x"))).toMatch("You may not write agent. It is a folder.");
});

test("dependencies with too many names to show them one by one are left out, and that is said", async () => {
  await using team = await scopeTeam();
  for (let i = 0; i < 450; i++)
    mkdirSync(join(team.project, `packages/app/node_modules/p${i}/.hidden`), { recursive: true });

  const binds = await team.alice.binds();
  expect(binds.omitted).toEqual([
    "project/packages/app/node_modules is left out: folders in it hold hidden names (they begin with a dot), and there are too many names to show them one by one.",
  ]);
  expect(shownOf(binds)).toContain("packages/app/node_modules");
  expect(shownOf(binds).filter((path) => path.includes("node_modules/"))).toEqual([]);
});

test("what the prompt promises, holds", async () => {
  await using team = await scopeTeam();
  const exampleOf = (name: string) =>
    name.replace("NODE", "node-2").replace("WORKER", "bob").replace(/\/…?$/, "/new.md");

  for (const scope of [team.alice, team.coordinator]) {
    const [, write = "", read = ""] = scope.describe().split(/^- /m);
    const names = (line: string) => (line.match(/[\w.]+(\/[\w.…]*)+|[\w]+\.(md|json)/g) ?? []).map(exampleOf);
    expect(names(write).length).toBeGreaterThan(2);
    for (const path of names(write)) {
      if (path === "published/new.md") continue;
      await scope.writeFile(path === "_spec.md" ? "nodes/node-1/_spec.md" : path, "x");
    }
    for (const path of names(read)) {
      const error = await text(scope, path).catch((reason: unknown) => reason);
      expect(error instanceof ScopeRefusal ? error.message : "readable, if it is there").toBe(
        "readable, if it is there",
      );
    }
  }
});

/** What is shown of the project, with its kind where it is not a folder of the layout itself. */
function shownOf({ laidOut = [] }: { laidOut?: ScopeBinds["laidOut"] | undefined }): string[] {
  const parts = laidOut.flatMap(({ parts }) => parts);
  return parts.map(({ path, kind }) => (kind === "empty" ? path : `${path} (${kind})`)).sort();
}

/** How the file is named in a worker's scope, which has the run as its top. */
function runPath(file: string): string {
  if (file.startsWith("project/")) return file;
  return file.startsWith(RUN) ? file.slice(RUN.length) : file.replace("home/agents/agent-test/", "agent/");
}

function agentPath(file: string): string {
  return file.startsWith(RUN) ? file.slice(RUN.length) : file.replace("home/agents/agent-test/", "agent/");
}

async function readable(scope: Scope, pathOf: (file: string) => string): Promise<string[]> {
  const seen: string[] = [];
  for (const file of filesOf()) {
    const found = await text(scope, pathOf(file)).catch(onlyRefusals);
    if (found === canaryOf(file)) seen.push(file);
    else expect(found).toBe("refused");
  }
  return seen;
}

async function writable(team: ScopeTeam, scope: Scope, pathOf: (file: string) => string): Promise<string[]> {
  for (const file of filesOf()) await scope.writeFile(pathOf(file), "OVERWRITTEN").catch(onlyRefusals);
  return filesOf().filter((file) => readFileSync(join(team.base, file), "utf8") === "OVERWRITTEN");
}

async function text(scope: Scope, path: string): Promise<string> {
  return (await scope.readFile(path, { maxBytes: 1000 })).bytes.toString();
}

function onlyRefusals(error: unknown): string {
  if (error instanceof ScopeRefusal || error instanceof FileNotFound) return "refused";
  throw error;
}

async function refusalOf(deed: Promise<unknown>): Promise<string> {
  const error = await deed.then(
    () => new Error("It was not refused."),
    (reason: unknown) => reason,
  );
  if (error instanceof ScopeRefusal || error instanceof FileNotFound) return error.message;
  throw error;
}
