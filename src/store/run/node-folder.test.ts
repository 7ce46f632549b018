import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import {
  createAgentFolder,
  createNodeFolder,
  createRunFolder,
  createWorkerFolder,
  finishPublish,
  preparePublish,
  recoverPublish,
  repairSpec,
  specFile,
  undoPublish,
  writeStatus,
} from "./node-folder.ts";
import { MAX_PUBLISHED_FILES } from "./publish-survey.ts";
import { COPY_FOLDER } from "./scratch-copy.ts";

const spec = {
  id: "node-1",
  task: "Measure chip A",
  deliverables: ["report.md"],
  refs: { survey: "node-0/published/survey.md" },
};

test("a node's folder of truth", async () => {
  await using home = await temporaryHome();
  const dir = join(home.path, "runs/run-1/nodes/node-1");

  await createNodeFolder(dir, spec);

  expect(contentsOf(dir)).toEqual({
    "_spec.md":
      "# node-1\n\nMeasure chip A\n\n## Deliverables\n\n- report.md\n\n## Input\n\n- survey: nodes/node-0/published/survey.md\n",
    "_refs.json": '{\n  "survey": "node-0/published/survey.md"\n}\n',
    "_status.md": "PENDING\n",
    "log.jsonl": "",
    scratch: "(folder)",
    published: "(folder)",
  });
});

test("agents, runs and workers have theirs", async () => {
  await using home = await temporaryHome();
  const agent = join(home.path, "agent");

  await createAgentFolder(agent, { soul: "calm", goal: "measure" });
  await createRunFolder(join(agent, "runs/run-1"));
  await createWorkerFolder(join(agent, "runs/run-1/workers/alice"), {
    name: "Alice",
    identity: "An analyst.",
    memory: "B is fast.",
  });

  expect(contentsOf(agent)).toEqual({
    "SOUL.md": "calm\n",
    "GOAL.md": "measure\n",
    "MEMORY.md": "",
    memory: "(folder)",
    runs: "(folder)",
    "runs/run-1": "(folder)",
    "runs/run-1/_messages": "(folder)",
    "runs/run-1/nodes": "(folder)",
    "runs/run-1/output": "(folder)",
    "runs/run-1/workers": "(folder)",
    "runs/run-1/workers/alice": "(folder)",
    "runs/run-1/workers/alice/identity.md": "An analyst.\n",
    "runs/run-1/workers/alice/memory.md": "B is fast.\n",
    "runs/run-1/workers/alice/notebook.md": "",
    "runs/run-1/workers/alice/history.json": "[]\n",
  });
  expect(statSync(agent).mode & 0o777).toBe(0o700);
  expect(statSync(join(agent, "MEMORY.md")).mode & 0o777).toBe(0o600);
});

test("making a folder again adds what is missing or was cut off by a crash, and changes nothing else", async () => {
  await using home = await temporaryHome();
  const dir = join(home.path, "node-1");
  await createNodeFolder(dir, spec);
  writeFileSync(join(dir, "_spec.md"), "changed by the coordinator");
  writeFileSync(join(dir, "scratch/draft.md"), "work");
  writeFileSync(join(dir, "_refs.json"), "");
  execFileSync("rm", ["-r", join(dir, "published"), join(dir, "_status.md")]);

  await createNodeFolder(dir, spec);

  expect(contentsOf(dir)).toEqual({
    "_spec.md": "changed by the coordinator",
    "_refs.json": '{\n  "survey": "node-0/published/survey.md"\n}\n',
    "_status.md": "PENDING\n",
    "log.jsonl": "",
    scratch: "(folder)",
    "scratch/draft.md": "work",
    published: "(folder)",
  });
});

test("a spec that a crash left as it was before a change is repaired; what somebody wrote there stays", async () => {
  await using home = await temporaryHome();
  const dir = join(home.path, "node-1");
  const specs = ["first", "second", "third"].map((task) => ({ ...spec, task }));
  const [first, , third] = specs;
  if (!first || !third) throw new Error("There are three.");
  await createNodeFolder(dir, first);
  const repaired = async (before: string | undefined) => {
    if (before === undefined) rmSync(join(dir, "_spec.md"));
    else writeFileSync(join(dir, "_spec.md"), before);
    await repairSpec(dir, third, specs.slice(0, 2));
    return readFileSync(join(dir, "_spec.md"), "utf8");
  };
  const now = specFile(third);
  for (const each of [...specs.map(specFile), "", undefined]) expect(await repaired(each)).toBe(now);
  expect(await repaired(`${now}\nAnd mind the units.\n`)).toBe(`${now}\nAnd mind the units.\n`);
  expect(await repaired("changed by the coordinator")).toBe("changed by the coordinator");
});

test("publishing puts all of scratch there at once, read-only and known by hash", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80", "data/run.csv": "1,2", "tool.sh": "#!/bin/sh" });
  chmodSync(join(dir, "scratch/tool.sh"), 0o755);

  const prepared = await preparePublish(dir, ["report.md"]);
  expect(prepared).toEqual({
    ok: true,
    files: [
      { path: "data/run.csv", sha256: sha256("1,2"), bytes: 3 },
      { path: "report.md", sha256: sha256("A: 80"), bytes: 5 },
      { path: "tool.sh", sha256: sha256("#!/bin/sh"), bytes: 9 },
    ],
  });
  expect(readdirSync(join(dir, "published"))).toEqual([]);

  await finishPublish(dir, filesOf(prepared));
  await writeStatus(dir, "completed", "A does 80.");

  expect(filesIn(dir, "published")).toEqual({ "report.md": "A: 80", "data/run.csv": "1,2", "tool.sh": "#!/bin/sh" });
  expect(readdirSync(join(dir, "scratch"))).toEqual([]);
  expect(
    ["report.md", "data/run.csv", "tool.sh"].map((file) => statSync(join(dir, "published", file)).mode & 0o777),
  ).toEqual([0o400, 0o400, 0o500]);
  expect(readFileSync(join(dir, "_status.md"), "utf8")).toBe("COMPLETED\n\nA does 80.\n");
});

test("finishing again changes nothing, not even new work in scratch", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  const files = filesOf(await preparePublish(dir, []));
  await finishPublish(dir, files);
  writeFileSync(join(dir, "scratch/later.md"), "later");

  await finishPublish(dir, files);
  await recoverPublish(dir, files);

  expect([filesIn(dir, "published"), filesIn(dir, "scratch")]).toEqual([
    { "report.md": "A: 80" },
    { "later.md": "later" },
  ]);
});

test("an empty scratch or a missing deliverable is refused with what to do, and nothing has changed", async () => {
  await using home = await temporaryHome();
  const empty = await nodeWith(home.path, {});
  mkdirSync(join(empty, "scratch/hollow"));
  expect(await preparePublish(empty, [])).toEqual({
    ok: false,
    reason: "scratch/ is empty. Write your results there first, e.g. scratch/report.md.",
  });

  writeFileSync(join(empty, "scratch/raport.md"), "x");
  expect(await preparePublish(empty, ["report.md", "./scratch/raport.md", "published/data.csv"])).toEqual({
    ok: false,
    reason: "the spec asks for scratch/report.md, scratch/data.csv, which are not there. scratch/ has: raport.md.",
  });
  expect(statSync(join(empty, "scratch/raport.md")).mode & 0o200).toBe(0o200);
});

test("a deliverable may be a folder, and may be named by where it will be", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "site/index.html": "<p>", "report.md": "x" });

  expect(filesOf(await preparePublish(dir, ["site/", "published/report.md", "scratch/site/index.html"])).length).toBe(
    2,
  );
});

test("links, pipes and names that nobody could read are refused, each with its reason", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "x" });
  const scratch = join(dir, "scratch");
  symlinkSync("/etc/passwd", join(scratch, "a-link"));
  symlinkSync("/etc", join(scratch, "b-folder-link"));
  execFileSync("mkfifo", [join(scratch, "c-pipe")]);
  writeFileSync(join(scratch, "d\\slash"), "x");
  writeFileSync(join(scratch, "e-cafe\u0301"), "x");

  expect(await preparePublish(dir, [])).toEqual({
    ok: false,
    reason:
      "scratch/a-link is a symbolic link: put a copy of the file in its place, or remove it; " +
      "scratch/b-folder-link is a symbolic link: put a copy of the file in its place, or remove it; " +
      "scratch/c-pipe is not a regular file (a pipe, a socket or a device): remove it; " +
      '"scratch/d\\\\slash" has a name others could not read it by: rename it; ' +
      '"scratch/e-cafe\u0301" has a name others could not read it by: rename it.',
  });
});

test("too many files are refused before any is touched", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, {});
  for (let i = 0; i <= MAX_PUBLISHED_FILES; i++) writeFileSync(join(dir, `scratch/${i}`), "");

  expect(await preparePublish(dir, [])).toMatchObject({
    ok: false,
    reason: expect.stringContaining("more than 2000 files"),
  });
});

test("a file with a second name is copied, so that nobody changes it from outside", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  linkSync(join(dir, "scratch/report.md"), join(home.path, "twin"));

  const files = filesOf(await preparePublish(dir, []));
  await finishPublish(dir, files);
  writeFileSync(join(home.path, "twin"), "A: 99, honestly");

  expect(filesIn(dir, "published")).toEqual({ "report.md": "A: 80" });
  await recoverPublish(dir, files);
});

test("what a crashed write left behind is not published", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "x", ".agiraph-unfinished-1-2": "ha" });

  expect(filesOf(await preparePublish(dir, [])).map((file) => file.path)).toEqual(["report.md"]);
  expect(readdirSync(join(dir, "scratch"))).toEqual(["report.md"]);
});

test("a publish that was never recorded is undone: the worker can go on writing", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "a/report.md": "x", "a/sealed-by-an-older-version.md": "x" });
  chmodSync(join(dir, "scratch/a/sealed-by-an-older-version.md"), 0o400);
  chmodSync(join(dir, "scratch/a/report.md"), 0o640);
  await preparePublish(dir, []);
  expect(readdirSync(dir)).toContain(COPY_FOLDER);

  await undoPublish(dir);

  expect(readdirSync(dir)).not.toContain(COPY_FOLDER);
  expect(
    ["report.md", "sealed-by-an-older-version.md"].map((name) => statSync(join(dir, "scratch/a", name)).mode & 0o777),
  ).toEqual([0o640, 0o600]);
});

test("recovery notices when the files are not what was recorded", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  const files = filesOf(await preparePublish(dir, []));
  for (const place of ["scratch", COPY_FOLDER]) {
    chmodSync(join(dir, place, "report.md"), 0o600);
    writeFileSync(join(dir, place, "report.md"), "A: 99");
  }

  await expect(recoverPublish(dir, files)).rejects.toThrow("report.md are not there as they were recorded");
  expect(readdirSync(join(dir, "published"))).toEqual([]);
});

test("what a file browser left in the empty published/ is no obstacle", async () => {
  await using home = await temporaryHome();
  const dir = await nodeWith(home.path, { "report.md": "A: 80" });
  const files = filesOf(await preparePublish(dir, []));
  writeFileSync(join(dir, "published/.DS_Store"), "");

  await finishPublish(dir, files);

  expect(filesIn(dir, "published")).toEqual({ "report.md": "A: 80" });
});

async function nodeWith(home: string, files: Record<string, string>): Promise<string> {
  const dir = join(home, "node-1");
  await createNodeFolder(dir, spec);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(dir, "scratch", path, ".."), { recursive: true });
    writeFileSync(join(dir, "scratch", path), content);
  }
  return dir;
}

function filesOf(prepared: Awaited<ReturnType<typeof preparePublish>>) {
  if (!prepared.ok) throw new Error(prepared.reason);
  return prepared.files;
}

function contentsOf(dir: string): Record<string, string> {
  const all = readdirSync(dir, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(
    all.map((path) => [
      path,
      statSync(join(dir, path)).isDirectory() ? "(folder)" : readFileSync(join(dir, path), "utf8"),
    ]),
  );
}

function filesIn(dir: string, folder: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(contentsOf(join(dir, folder))).filter(([, content]) => content !== "(folder)"),
  );
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("what was said by files is put beside the work when it is published, and stays where it is when that is refused", async () => {
  await using home = await temporaryHome();
  const dir = join(home.path, "node-1");
  await createNodeFolder(dir, spec);
  const said = ["_task.md", "_context.json", "_inbox.md", "_outbox.md", "_result.md", "_checkpoint.md"];
  for (const name of said) writeFileSync(join(dir, "scratch", name), name);
  expect(await preparePublish(dir, ["report.md"])).toMatchObject({ ok: false });
  expect(readdirSync(join(dir, "scratch")).sort()).toEqual([...said].sort());

  writeFileSync(join(dir, "scratch/report.md"), "80");
  const prepared = await preparePublish(dir, ["report.md"]);
  if (!prepared.ok) throw new Error(prepared.reason);
  await finishPublish(dir, prepared.files);
  expect(prepared.files.map(({ path }) => path)).toEqual(["report.md"]);
  expect(readdirSync(join(dir, "published"))).toEqual(["report.md"]);
  expect(readdirSync(join(dir, "protocol")).sort()).toEqual([...said].sort());
});

test("files of such names are work like any other where nobody speaks by files", async () => {
  await using home = await temporaryHome();
  const dir = join(home.path, "node-1");
  await createNodeFolder(dir, spec);
  writeFileSync(join(dir, "scratch/_result.md"), "mine");
  const prepared = await preparePublish(dir, []);
  expect(prepared).toMatchObject({ ok: true, files: [{ path: "_result.md" }] });
});
