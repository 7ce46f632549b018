import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { call, script, startTeam, until } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { processesNaming } from "./house.ts";

/** Any command as a worker of the team, in the real sandbox, by nothing but files. */
const plain = (command: string) => ({
  goal: "g",
  config: { programs: { plain: { kind: "autonomous" as const, command: ["bash", "-c", command] } } },
  env: { PATH: process.env.PATH },
});

const hiring = (end = "node-1 completed") =>
  script(
    call("spawn_worker", { name: "Paul", type: "autonomous", program: "plain" }),
    call("create_work_node", { task: "Count to three.", deliverables: ["count.md"], worker: "Paul" }),
    call("finish", { summary: "done" }).after(end),
  );

describe.skipIf(skipped)(`a program that knows nothing of us ${skipped}`, () => {
  test("reads its task, writes its result, and what it made is published without the files it spoke by", async () => {
    const command = `grep -q 'Count to three' _task.md && seq 3 > count.md
      printf 'TO: coordinator\\nI have counted.\\n---\\n' >> _outbox.md; echo 'One, two, three.' > _result.md`;
    await using team = await startTeam({ ...plain(command), coordinator: hiring() });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
      status: "completed",
      summary: "One, two, three.",
      files: [{ path: "count.md", bytes: 6 }],
    });
    const sent = (await team.facts()).filter((fact) => fact.type === "message.sent");
    expect(sent.map(({ data: { from, to, text } }) => ({ from, to, text }))).toEqual([
      { from: "paul", to: "coordinator", text: "I have counted." },
    ]);
  });

  test("is told in its inbox what is said to it", async () => {
    const command = `until grep -q Faster _inbox.md; do sleep 0.05; done; seq 3 > count.md; echo Done > _result.md; sleep 60`;
    await using team = await startTeam({ ...plain(command), coordinator: hiring() });
    await until(team.agent, ({ roster }) => roster.paul?.status === "busy");
    await team.agent.send("Faster!", "Paul");
    await team.outcome();
    const inbox = join(team.agent.log.dir, "runs/run-1/nodes/node-1/protocol/_inbox.md");
    expect(await readFile(inbox, "utf8")).toContain("[Message from your human]: Faster!");
  });

  test("whose work goes on behind its result is ended with all of it, and its end is on record", async () => {
    const marker = `behind-${process.pid}`;
    const command = `(setsid bash -c 'trap "" TERM; while :; do date >> count.md; sleep 0.01; done' ${marker} >/dev/null 2>&1 &)
      until [ -s count.md ] && [ -e go ]; do sleep 0.01; done; rm go; echo 'Done so far.' > _result.md; exec sleep 600`;
    await using team = await startTeam({ ...plain(command), coordinator: hiring() });
    await team.until(({ roster }) => roster.paul?.status === "busy");
    const scratch = join(team.agent.log.dir, "runs/run-1/nodes/node-1/scratch");
    await vi.waitFor(() => access(join(scratch, "count.md")), { timeout: 120_000 });
    expect(processesNaming(marker)).not.toEqual([]);
    await writeFile(join(scratch, "go"), "");
    await team.outcome();
    expect(processesNaming(marker)).toEqual([]);
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "Done so far." });
    const exits = (await team.facts()).filter(({ type }) => type === "process.exited");
    expect(exits.map(({ data }) => data)).toMatchObject([{ worker_id: "paul", node_id: "node-1" }]);
  });

  test("that only prints has what it printed for its result", async () => {
    await using team = await startTeam({ ...plain("seq 3 > count.md; echo One, two, three."), coordinator: hiring() });
    await team.outcome();
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
      status: "completed",
      summary: "One, two, three.",
      files: [
        { path: "count.md", bytes: 6 },
        { path: "stdout.txt", bytes: 17 },
      ],
    });
  });

  test("that prints much has its beginning and end for its result, and all of it in a file", async () => {
    await using team = await startTeam({ ...plain("seq 3 > count.md; seq 100000"), coordinator: hiring() });
    await team.outcome();
    const node = team.agent.now.board.nodes["node-1"];
    expect(node).toMatchObject({ status: "completed", files: [{}, { path: "stdout.txt", bytes: 588_895 }] });
    const summary = node && "summary" in node ? node.summary : "";
    expect(summary.length).toBeLessThanOrEqual(4000);
    expect(summary).toMatch(/^1\n2\n3\n[\s\S]*… \(588894 characters in all: stdout\.txt\)[\s\S]*\n99999\n100000$/);
  });

  test("whose result is longer than a summary may be loses nothing of it", async () => {
    const command = "seq 3 > count.md; seq 2000 > result; mv result _result.md";
    await using team = await startTeam({ ...plain(command), coordinator: hiring() });
    await team.outcome();
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
      status: "completed",
      summary: expect.stringMatching(/^1\n2\n[\s\S]*… \(8892 characters in all: result\.md\)[\s\S]*\n2000$/),
      files: [{ path: "count.md" }, { path: "result.md", bytes: 8893 }],
    });
    const published = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/result.md");
    const whole = Array.from({ length: 2000 }, (_, at) => `${at + 1}\n`).join("");
    expect(await readFile(published, "utf8")).toBe(whole);
  });

  test("whose first try came to nothing has what it prints in the second for its result", async () => {
    const command = "test -e tried && seq 3 > count.md; touch tried; date +%s%N";
    await using team = await startTeam({ ...plain(command), coordinator: hiring() });
    await team.outcome();
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
      status: "completed",
      failures: 1,
      summary: expect.stringMatching(/^\d+$/),
    });
  });

  test("that printed and is stopped says nothing to the human by that, whatever the human said to it", async () => {
    const command = "seq 1000; until grep -q Faster _inbox.md; do sleep 0.05; done; echo heard; exec sleep 600";
    await using team = await startTeam({ ...plain(command), coordinator: hiring() });
    await until(team.agent, ({ roster }) => roster.paul?.status === "busy");
    const heard = Promise.withResolvers<void>();
    team.agent.onDelta(({ text }) => text.includes("heard") && heard.resolve());
    await team.agent.send("Faster!", "Paul");
    await heard.promise;
    await team.agent.stop("human");
    const sent = (await team.facts()).filter((fact) => fact.type === "message.sent");
    expect(sent.map(({ data: { from, to } }) => ({ from, to }))).toEqual([{ from: "human", to: "paul" }]);
  });

  test("that ends without a result has failed, twice, with what it said", async () => {
    await using team = await startTeam({ ...plain("echo no disk >&2; exit 3"), coordinator: hiring("node-1 failed") });
    await team.outcome();
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
      status: "failed",
      outcome: { kind: "failed", error: "The program ended (exit code 3) without publishing. It said: no disk" },
    });
  });

  test("whose result lacks what was asked for is told so, and fails with the reason when it has gone", async () => {
    await using team = await startTeam({
      ...plain("echo Done > _result.md; echo x > y.md"),
      coordinator: hiring("node-1 failed"),
    });
    await team.outcome();
    const node = team.agent.now.board.nodes["node-1"];
    expect(node && "outcome" in node && "error" in node.outcome ? node.outcome.error : node).toContain(
      "the spec asks for scratch/count.md",
    );
  });
});
