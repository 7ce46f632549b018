import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const isRoot = process.getuid?.() === 0;

/** What stands in scratch/, and what the worker is told about it. */
const obstacles: { what: string; put: (scratch: string) => void; told: string }[] = [
  { what: "a link", put: (at) => symlinkSync("/etc/passwd", join(at, "x")), told: "scratch/x is a symbolic link" },
  {
    what: "a pipe",
    put: (at) => void execFileSync("mkfifo", [join(at, "x")]),
    told: "scratch/x is not a regular file",
  },
  {
    what: "a sparse file of 1 TiB",
    put: (at) => {
      writeFileSync(join(at, "x"), "");
      truncateSync(join(at, "x"), 2 ** 40);
    },
    told: "at most 4 GiB can be published",
  },
  {
    what: "a name that is not UTF-8",
    put: (at) => writeFileSync(Buffer.concat([Buffer.from(`${at}/x`), Buffer.from([0xff])]), ""),
    told: "is not valid UTF-8",
  },
  {
    what: "2,001 files",
    put: (at) => {
      for (let i = 0; i < 2001; i++) writeFileSync(join(at, `${i}`), "");
    },
    told: "more than 2000 files",
  },
  {
    what: "a tree too deep",
    put: (at) => mkdirSync(join(at, ...Array<string>(40).fill("d")), { recursive: true }),
    told: "lies deeper than 32 folders",
  },
  ...(isRoot
    ? []
    : [
        {
          what: "a file without permissions",
          put: (at: string) => {
            writeFileSync(join(at, "x"), "");
            chmodSync(join(at, "x"), 0);
          },
          told: "scratch/x cannot be read",
        },
      ]),
];

test.each(obstacles)(
  "a worker whose publish is refused again and again for $what is ended with that reason",
  async ({ put, told }) => {
    const ready = Promise.withResolvers<void>();
    const publish = call("publish", { summary: "done" });
    await using team = await startTeam({
      goal: "Write",
      coordinator: script(
        call("create_work_node", { task: "Write" }),
        call("finish", { summary: "without it" }).after("node-1 failed"),
      ),
      workers: {
        Alice: script(
          call("write_file", { path: "scratch/report.md", content: "x" }),
          publish.until(ready.promise),
          ...Array.from({ length: 5 }, () => publish),
        ),
      },
    });
    await wrote(team);
    put(join(team.agent.log.dir, "runs/run-1/nodes/node-1/scratch"));
    ready.resolve();

    expect(await team.outcome()).toEqual({ kind: "finished", summary: "without it" });
    const answers = (await team.conversation("runs/run-1/workers/alice/conversation.jsonl")).flatMap((entry) =>
      entry.role === "tool" && entry.tool === "publish" ? [entry.content] : [],
    );
    expect(answers).toEqual(Array(6).fill(expect.stringContaining(told)));
    expect(team.board()[0]).toMatchObject({ status: "failed" });
  },
);

test("a socket in scratch/ is refused with what to do", async () => {
  const ready = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Write",
    coordinator: script(
      call("create_work_node", { task: "Write" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/report.md", content: "x" }),
        call("publish", { summary: "first" }).until(ready.promise),
        call("publish", { summary: "second" }).after("scratch/socket is not a regular file"),
      ),
    },
  });
  await wrote(team);
  const path = join(team.agent.log.dir, "runs/run-1/nodes/node-1/scratch/socket");
  const server = createServer().listen(path);
  await new Promise((resolve) => server.once("listening", resolve));
  team.agent.log.subscribe((fact) => {
    if (fact.type === "tool.result" && fact.data.tool === "publish" && !fact.data.ok) execFileSync("rm", ["-f", path]);
  });
  ready.resolve();

  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  server.close();
});

test("work that builds on a published file which was changed since is not begun, and its reader is told", async () => {
  const changed = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Build on it",
    coordinator: script(
      call("create_work_node", { task: "Measure" }),
      call("read_file", { path: "nodes/node-1/published/report.md" }).until(changed.promise).after("node-1 completed"),
      call("create_work_node", { task: "Compare", refs: { measured: "node-1/published/report.md" } }),
      call("finish", { summary: "stopped there" }).after("node-2 failed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/report.md", content: "A: 80" }),
        call("publish", { summary: "A: 80" }),
      ),
    },
  });
  const isDone = Promise.withResolvers<void>();
  team.agent.log.subscribe((fact) => void (fact.type === "node.completed" && isDone.resolve()));
  await isDone.promise;
  const report = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/report.md");
  chmodSync(report, 0o600);
  writeFileSync(report, "A: 99");
  changed.resolve();

  expect(await team.outcome()).toEqual({ kind: "finished", summary: "stopped there" });
  expect(team.board()[1]).toMatchObject({
    status: "failed",
    outcome: { error: expect.stringContaining("measured: nodes/node-1/published/report.md") },
  });
  const read = (await team.conversation("conversation.jsonl")).find(
    (entry) => entry.role === "tool" && entry.tool === "read_file",
  );
  expect(read).toMatchObject({ ok: false, content: expect.stringContaining("was changed after it was published") });
});

async function wrote(team: TestTeam): Promise<void> {
  const done = Promise.withResolvers<void>();
  team.agent.log.subscribe((fact) => {
    if (fact.type === "tool.result" && fact.data.tool === "write_file") done.resolve();
  });
  const facts = await team.agent.log.read({ after: 0, limit: 1000 });
  if (facts.some((fact) => fact.type === "tool.result" && fact.data.tool === "write_file")) done.resolve();
  await done.promise;
}
