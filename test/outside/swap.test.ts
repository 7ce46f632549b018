import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { both, call, say, script, startProviderServer, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { type Play, scriptedPrograms } from "../../src/testing/scripted-program.ts";
import { startServer } from "../../src/testing/start-server.ts";
import { within } from "../../src/testing/within.ts";
import { skipped } from "../try-sandbox.ts";
import { processesNaming } from "./house.ts";
import { claudeHouse, isWork, shell, withClaude } from "./real-claude.ts";

const begun = { kind: "begun", session_id: "s-1" } as const;

/** Who had the node, in order, and what the next one was told. */
async function hands(team: TestTeam): Promise<unknown[]> {
  const facts = await team.facts();
  return facts.flatMap((fact): unknown[] => {
    if (fact.type === "node.assigned") return [fact.data.worker_id];
    return fact.type === "node.reopened" ? [[fact.data.from, fact.data.did]] : [];
  });
}

function folder(team: TestTeam): string {
  return join(team.agent.log.dir, "runs/run-1/nodes/node-1");
}

async function logOf(team: TestTeam): Promise<Fact[]> {
  await team.agent.idle();
  const lines = (await readFile(join(folder(team), "log.jsonl"), "utf8")).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Fact);
}

test("a node goes from a model to a program, to the human and back, with its folder and one log", async () => {
  const clara: Play = async (program) => {
    program.emit(begun);
    expect(await program.hear()).toBe(
      "You take over node-1, which Ann had. What was done is in your folder: look at it and go on from there, do not begin again.\nFiles: a.md.\nLast words: I have the first line.",
    );
    expect(await readFile(join(program.setup.cwd, "a.md"), "utf8")).toBe("one\n");
    await writeFile(join(program.setup.cwd, "b.md"), "two\n");
    program.emit({ kind: "said", text: "I have the second." }, { kind: "rested", how: "done", words: "" });
    await program.interruption();
  };
  const coordinator = script(
    call("spawn_worker", { name: "Ann" }),
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Count to three.", deliverables: ["a.md", "b.md", "c.md"], worker: "Ann" }),
    say("I wait."),
    call("assign_worker", { node_id: "node-1", worker_id: "Clara" }).after("give it to Clara"),
    say("I wait."),
    call("assign_worker", { node_id: "node-1", worker_id: "human" }).after("give it to me"),
    say("I wait."),
    call("assign_worker", { node_id: "node-1", worker_id: "Ann" }).after("give it back to Ann"),
    say("I wait."),
    call("finish", { summary: "Counted." }).after("node-1 completed"),
  );
  const ann = script(
    both(say("I have the first line."), call("write_file", { path: "scratch/a.md", content: "one\n" })),
    call("check_messages", { wait: true }),
    call("write_file", { path: "scratch/d.md", content: "four\n" }).after("You take over node-1, which your human had"),
    call("publish", { summary: "All there." }),
  );
  const outside = scriptedPrograms(clara);
  await using team = await startTeam({ goal: "g", coordinator, workers: { Ann: ann }, outside });
  await team.until(({ roster }) => roster.ann?.status === "waiting");
  await team.agent.send("Now give it to Clara.");
  await team.until(({ thread }) => thread.length > 0);
  await team.until(({ board }) => {
    const node = board.nodes["node-1"];
    return node?.status === "running" && node.worker_id === "clara";
  });
  await expect.poll(() => readFile(join(folder(team), "scratch/b.md"), "utf8").catch(() => "")).toBe("two\n");
  await team.agent.send("Now give it to me.");
  await team.until(({ questions }) => Object.keys(questions.open).length === 1);
  expect(outside.started[0]?.isClosed).toBe(true);
  const [question] = Object.values(team.agent.now.questions.open);
  expect(question).toMatchObject({ worker_id: "human", node_id: "node-1", choices: ["done", "give it back"] });
  expect(question?.text).toBe(
    `node-1 is yours: Count to three.\n\nIt needs: a.md, b.md, c.md.\n\nClara had it before you. Files: a.md, b.md.\nLast words: I have the second.\n\nPut the files into ${folder(team)}/scratch, then say done, or what you did in a few words. It is then published for the others.`,
  );
  await writeFile(join(folder(team), "scratch/c.md"), "three\n");
  await team.agent.send("Now give it back to Ann.");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Counted." });
  expect(team.agent.now.questions.open).toEqual({});
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
    status: "completed",
    worker_id: "ann",
    files: [{ path: "a.md" }, { path: "b.md" }, { path: "c.md" }, { path: "d.md" }],
  });
  expect(await hands(team)).toEqual([
    "ann",
    ["ann", "Files: a.md.\nLast words: I have the first line."],
    "clara",
    ["clara", "Files: a.md, b.md.\nLast words: I have the second."],
    "human",
    ["human", "Files: a.md, b.md, c.md."],
    "ann",
  ]);
  const mine = (await team.facts()).filter((fact) => "node_id" in fact.data && fact.data.node_id === "node-1");
  expect((await logOf(team)).map(({ seq, type }) => [seq, type])).toEqual(mine.map(({ seq, type }) => [seq, type]));
});

test("one that failed is done by somebody else, from what it left, and what waited for it comes back", async () => {
  const coordinator = script(
    call("spawn_worker", { name: "Ann" }),
    call("spawn_worker", { name: "Ben" }),
    call("create_work_node", { task: "First.", deliverables: ["a.md"], worker: "Ann" }),
    call("create_work_node", { task: "Second.", dependencies: ["node-1"], deliverables: ["z.md"], worker: "Ben" }),
    call("assign_worker", { node_id: "node-1", worker_id: "Ben" }).after("node-1 failed"),
    call("finish", { summary: "done" }).after("node-2 completed"),
  );
  const silent = [say("Hm."), say("Hm."), say("Hm."), say("Hm.")];
  const ann = script(call("write_file", { path: "scratch/half.md", content: "half" }), ...silent, ...silent);
  const ben = script(
    call("write_file", { path: "scratch/a.md", content: "whole" }).after("The worker stopped calling tools"),
    call("publish", { summary: "Whole." }),
    call("write_file", { path: "scratch/z.md", content: "z" }),
    call("publish", { summary: "And the second." }),
  );
  await using team = await startTeam({ goal: "g", coordinator, workers: { Ann: ann, Ben: ben } });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.board()).toMatchObject([
    { status: "completed", worker_id: "ben", files: [{ path: "a.md" }, { path: "half.md" }] },
    { status: "completed", worker_id: "ben", files: [{ path: "z.md" }] },
  ]);
});

test("the human takes work, writes files and publishes it, all by the API; what is missing is said", async () => {
  const coordinator = script(
    call("create_work_node", { task: "Sign it.", deliverables: ["signed.md"], worker: "human" }),
    call("finish", { summary: "Signed." }).after("node-1 completed by your human: I signed it."),
  );
  await using server = await startServer({ coordinator });
  const { body } = await server.post("/agents", { goal: "g", worker_model: "scripted/worker" });
  const { id } = body as { id: string };
  const agent = await server.until(id, ({ questions }) => Object.keys(questions.open).length > 0);
  expect(await server.get("/inbox")).toMatchObject({
    body: { items: [{ kind: "question", text: expect.stringContaining("node-1 is yours: Sign it.") }] },
  });
  const at = `/agents/${id}/board/node-1`;
  expect(await server.post(`${at}/publish`, {})).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining("node-1 is not published: ") } },
  });
  expect(await server.ask("PUT", `${at}/scratch/../../x.md`, { content: "x" })).toMatchObject({ status: 404 });
  expect(await server.ask("PUT", `${at}/scratch/signed.md`, { content: "me\n" })).toEqual({
    status: 200,
    body: { path: "signed.md", bytes: 3 },
  });
  expect(await server.post(`${at}/publish`, { summary: "I signed it." })).toEqual({
    status: 200,
    body: { status: "delivered", detail: "node-1 is published." },
  });
  await agent.idle();
  expect(agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Signed." });
  expect(await server.post(`${at}/assign`, { worker: "human" })).toMatchObject({ status: 409 });
  expect(await server.ask("PUT", `${at}/scratch/more.md`, { content: "x" })).toMatchObject({ status: 409 });
});

test("what is the human's outlasts a stop, and may be given back", async () => {
  const coordinator = script(
    call("create_work_node", { task: "Sign it.", worker: "human" }),
    say("I wait."),
    call("finish", { summary: "Unsigned." }).after("node-1 failed: Your human gave it back."),
  );
  await using team = await startTeam({ goal: "g", coordinator });
  await team.until(({ questions }) => questions.asked === 1);
  await team.agent.stop("human");
  await team.agent.start("resumed");
  await team.until(({ roster }) => roster.human?.status === "waiting");
  await team.agent.respond("2");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Unsigned." });
  expect(team.agent.now.questions.asked).toBe(1);
});

test("what cannot change hands is refused with the reason", async () => {
  const coordinator = script(
    call("spawn_worker", { name: "Ann" }),
    call("create_work_node", { task: "t", worker: "Ann" }),
    call("assign_worker", { node_id: "node-1", worker_id: "Ann" }).after("Created"),
    call("assign_worker", { node_id: "node-1", worker_id: "Bob" }),
    call("assign_worker", { node_id: "node-1", worker_id: "Ann" }).after("node-1 completed"),
    call("finish", { summary: "done" }),
  );
  const ann = script(
    call("check_messages", { wait: true }),
    call("write_file", { path: "scratch/a", content: "a" }),
    call("publish", { summary: "s" }),
  );
  await using team = await startTeam({ goal: "g", coordinator, workers: { Ann: ann } });
  await team.until(({ roster }) => roster.ann?.status === "waiting");
  await team.agent.send("Go.", "Ann");
  await team.outcome();
  const entries = await team.conversation();
  const answers = entries.flatMap((entry) =>
    entry.role === "tool" && entry.tool === "assign_worker" ? entry.content : [],
  );
  expect(answers.slice(1)).toEqual([
    'There is nobody named "Bob". Choose from: Ann, coordinator.',
    "node-1 is completed. Create a new node for what is still to be done.",
  ]);
});

withClaude(
  "Claude Code at work is stopped within 5 s when a model gets its node, and leaves no process",
  { timeout: 120_000 },
  async () => {
    const waits = shell("echo half > a.md; until [ -e go ]; do sleep 0.05; done");
    await using provider = await startProviderServer({
      respond: (request) => (isWork(request) ? waits : { text: "ok" }),
    });
    const coordinator = script(
      call("spawn_worker", { name: "Clara", program: "claude-code" }),
      call("spawn_worker", { name: "Ann" }),
      call("create_work_node", { task: "Write a.md.", deliverables: ["a.md"], worker: "Clara" }),
      say("I wait."),
      call("assign_worker", { node_id: "node-1", worker_id: "Ann" }).after("give it to Ann"),
      say("I wait."),
      call("finish", { summary: "done" }).after("node-1 completed"),
    );
    const ann = script(
      call("read_file", { path: "scratch/a.md" }).after("You take over node-1, which Clara had", "Files: a.md"),
      call("publish", { summary: "It was there." }).after("half"),
    );
    await using team = await startTeam({ goal: "g", coordinator, workers: { Ann: ann }, ...claudeHouse(provider.url) });
    await expect
      .poll(() => readFile(join(folder(team), "scratch/a.md"), "utf8").catch(() => ""), { timeout: 120_000 })
      .toBe("half\n");
    const session = team.agent.now.outside.sessions["node-1"]?.session_id ?? "none";
    expect(processesNaming(session)).not.toEqual([]);
    const handed = within(
      5000,
      team.until(({ board }) => board.nodes["node-1"]?.handed !== undefined),
    );
    await team.agent.send("Please give it to Ann.");
    await handed;
    expect(processesNaming(session)).toEqual([]);
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", worker_id: "ann" });
  },
);
test.skipIf(skipped)(`what one program left to another is not its own when it comes back ${skipped}`, async () => {
  const speaking = (name: string) => ({
    kind: "autonomous" as const,
    command: [
      "bash",
      "-c",
      `if [ -e ${name} ]; then echo 'Mine.' > _result.md; exit; fi; touch ${name}
      printf 'TO: coordinator\\nI am ${name}.\\n---\\n' >> _outbox.md; ${name === "Quinn" ? "echo Theirs. > _result.md;" : ""} sleep 600`,
    ],
  });
  const give = (worker: string) => call("assign_worker", { node_id: "node-1", worker_id: worker });
  const coordinator = script(
    both(
      call("spawn_worker", { name: "Pia", program: "pia" }),
      call("spawn_worker", { name: "Quinn", program: "quinn" }),
    ),
    call("create_work_node", { task: "Say who you are.", deliverables: ["Pia", "Quinn", "third"], worker: "Pia" }),
    give("Quinn").after("I am Pia."),
    give("Pia").after("I am Quinn."),
    call("finish", { summary: "done" }).after("node-1 failed"),
  );
  const config = { programs: { pia: speaking("Pia"), quinn: speaking("Quinn") } };
  await using team = await startTeam({ goal: "g", coordinator, config, env: { PATH: process.env.PATH } });
  await team.outcome();
  const facts = await team.facts();
  const sent = facts.flatMap((fact) => (fact.type === "message.sent" ? [[fact.data.from, fact.data.text]] : []));
  expect(sent).toEqual([
    ["pia", "I am Pia."],
    ["quinn", "I am Quinn."],
  ]);
});
