import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { summarise } from "../../src/projections/index.ts";
import { inboxOf } from "../../src/runtime/human/inbox.ts";
import { call, fail, type ScriptedModel, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const order = call("create_work_node", { task: "Sign it.", deliverables: ["signed.md"], worker: "Ann" });
const finish = call("finish", { summary: "Signed." }).after("node-1 completed by your human: I signed it.");
const finishLater = call("finish", { summary: "done" }).after("node-1 completed");
const hire = call("spawn_worker", { name: "Ann" });

/** A team whose node-1 is Ann's, who waits for ever. */
function waiting(): { goal: string; coordinator: ScriptedModel; workers: Record<string, ScriptedModel> } {
  const coordinator = script(hire, order, say("I wait."), finish);
  return { goal: "g", coordinator, workers: { Ann: script(call("check_messages", { wait: true })) } };
}

const silent = [say("Hm."), say("Hm."), say("Hm."), say("Hm.")];

/** A team whose node-1 failed, with what Ann had made of it. */
function failing() {
  const coordinator = script(hire, order, say("I wait."), say("I wait for you.").after("node-1 failed"), finish);
  const ann = script(
    call("write_file", { path: "scratch/half.md", content: "half" }),
    call("write_file", { path: "scratch/parts/one.md", content: "one" }),
    ...silent,
    ...silent,
  );
  return { goal: "g", coordinator, workers: { Ann: ann } };
}

const scratch = (team: TestTeam) => join(team.agent.log.dir, "runs/run-1/nodes/node-1/scratch");

async function sign(team: TestTeam): Promise<void> {
  await writeFile(join(scratch(team), "signed.md"), "me\n");
}

/** What is said when it is given to the human, without where the agent's folder is. */
async function givenToHuman({ agent }: TestTeam, id: string): Promise<string> {
  return (await agent.assign(id, "human")).replace(agent.log.dir, "DIR");
}

const YOURS = (id: string, run = "run-1") =>
  `${id} is yours. Put the files into DIR/runs/${run}/nodes/${id}/scratch, then: agiraph publish g ${id}`;

async function isGivenAndPublished(team: TestTeam, look = async () => {}): Promise<void> {
  expect(await givenToHuman(team, "node-1")).toBe(YOURS("node-1"));
  await look();
  await team.until(({ questions }) => Object.keys(questions.open).length === 1);
  expect(inboxOf([team.agent.now])).toContainEqual(
    expect.objectContaining({ kind: "question", text: expect.stringContaining("node-1 is yours: Sign it.") }),
  );
  await sign(team);
  expect(await team.agent.publish("node-1", "I signed it.")).toBe("node-1 is published.");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Signed." });
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", worker_id: "human" });
}

const isAnnWaiting = (team: TestTeam) => team.until(({ roster }) => roster.ann?.status === "waiting");

test("a node is given to the human while the agent works", async () => {
  await using team = await startTeam(waiting());
  await isAnnWaiting(team);
  await isGivenAndPublished(team);
});

test("a node is given to the human after a stop, in the same process and in the next", async () => {
  await using first = await startTeam(waiting());
  await isAnnWaiting(first);
  await first.agent.stop("human");
  await isGivenAndPublished(first);
  await using second = await startTeam(waiting());
  await isAnnWaiting(second);
  await second.agent.stop("human");
  await isGivenAndPublished(await second.restart());
});

test("a node is given to the human after the process was interrupted", async () => {
  await using team = await startTeam(waiting());
  await isAnnWaiting(team);
  await isGivenAndPublished(await team.restart());
});

test("what is given to the human of a paused agent is published when it is resumed", async () => {
  await using before = await startTeam(waiting());
  await isAnnWaiting(before);
  await before.agent.pause("human");
  const team = await before.restart();
  await team.agent.assign("node-1", "human");
  expect(inboxOf([team.agent.now])).toMatchObject([{ kind: "question" }]);
  await sign(team);
  expect(await team.agent.publish("node-1", "I signed it.")).toBe(
    "node-1 is published when g is resumed; it is paused: agiraph resume g",
  );
  await team.agent.start("resumed");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Signed." });
});

test("HUMAN-WORK-2: who publishes again what they have published while it rests hears when it comes about", async () => {
  await using before = await startTeam(waiting());
  await isAnnWaiting(before);
  await before.agent.pause("human");
  const team = await before.restart();
  await team.agent.assign("node-1", "human");
  await sign(team);
  for (const words of ["I signed it.", "Again."])
    expect(await team.agent.publish("node-1", words)).toBe(
      "node-1 is published when g is resumed; it is paused: agiraph resume g",
    );
  await team.agent.start("resumed");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Signed." });
});

test("a failed node is given to the human after a stop, with what there was and what they had put there before", async () => {
  await using before = await startTeam(failing());
  await before.until(({ board }) => board.nodes["node-1"]?.status === "failed");
  await before.until(({ roster }) => roster.coordinator?.status === "waiting");
  await before.agent.stop("human");
  const team = await before.restart();
  await mkdir(join(scratch(team), "parts"));
  await writeFile(join(scratch(team), "parts/two.md"), "two");
  await writeFile(join(scratch(team), "half.md"), "mine");
  // What there was is where they are told to work, before anybody goes on.
  await isGivenAndPublished(team, async () =>
    expect(await readFile(join(scratch(team), "parts/one.md"), "utf8")).toBe("one"),
  );
  const published = join(scratch(team), "../published");
  expect(await readFile(join(published, "half.md"), "utf8")).toBe("mine");
  expect(await readFile(join(published, "parts/one.md"), "utf8")).toBe("one");
  expect(await readFile(join(published, "parts/two.md"), "utf8")).toBe("two");
});

test("a node that is resumed before it is published waits for the human as before", async () => {
  await using before = await startTeam(waiting());
  await isAnnWaiting(before);
  await before.agent.stop("human");
  const team = await before.restart();
  await team.agent.assign("node-1", "human");
  await sign(team);
  await team.agent.start("resumed");
  await team.until(({ board }) => board.nodes["node-1"]?.status === "running");
  expect(Object.keys(team.agent.now.questions.open)).toHaveLength(1);
  await sign(team);
  expect(await team.agent.publish("node-1", "I signed it.")).toBe("node-1 is published.");
  await team.agent.idle();
});

test("a worker who gets a node of an agent that rests begins when it goes on", async () => {
  const coordinator = script(hire, call("spawn_worker", { name: "Ben" }), order, say("I wait."), finishLater);
  const ben = script(
    call("write_file", { path: "scratch/signed.md", content: "b" }),
    call("publish", { summary: "b" }),
  );
  const workers = { Ann: script(call("check_messages", { wait: true })), Ben: ben };
  await using before = await startTeam({ goal: "g", coordinator, workers });
  await isAnnWaiting(before);
  await before.agent.stop("human");
  const team = await before.restart();
  expect(await team.agent.assign("node-1", "Ben")).toBe(
    "node-1 is Ben's. g is stopped: nothing begins until you resume it: agiraph resume g",
  );
  expect(team.agent.isWorking).toBe(false);
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "pending", reserved_for: "ben" });
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("HUMAN-WORK-2: who publishes while the agent is closed is told so, and it is published when it goes on", async () => {
  await using before = await startTeam(waiting());
  await isAnnWaiting(before);
  await before.agent.assign("node-1", "human");
  await before.until(({ questions }) => Object.keys(questions.open).length === 1);
  await sign(before);
  const publishing = before.agent.publish("node-1", "I signed it.");
  await before.agent.close();
  expect(await publishing).toBe(
    "What you said is recorded, but g was closed before node-1 was published. It is published when g continues: agiraph resume g",
  );
  const team = await before.restart();
  await team.agent.start("resumed");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Signed." });
});

const both = call("finish", { summary: "Both." }).after("node-1 completed", "node-2 completed");
const orderBoth = [
  call("create_work_node", { task: "Sign it.", deliverables: ["signed.md"], worker: "Ann" }),
  call("create_work_node", { task: "Stamp it.", worker: "Ben" }),
];
const hireBoth = [hire, call("spawn_worker", { name: "Ben" })];

/** A team whose node-1 and node-2 are with two who wait for ever. */
function waitingBoth() {
  const forever = () => script(call("check_messages", { wait: true }));
  const coordinator = script(...hireBoth, ...orderBoth, say("I wait."), both);
  return { goal: "g", coordinator, workers: { Ann: forever(), Ben: forever() } };
}

const areBothWaiting = (team: TestTeam) =>
  team.until(({ roster }) => roster.ann?.status === "waiting" && roster.ben?.status === "waiting");

const stamp = (team: TestTeam) => writeFile(join(scratch(team), "../../node-2/scratch/stamp.md"), "me\n");

/** Given to the human one after the other: both are in the inbox at once, and each can be published first. */
async function areBothGivenAndPublished(team: TestTeam, first: "node-1" | "node-2"): Promise<void> {
  for (const id of ["node-1", "node-2"]) expect(await givenToHuman(team, id)).toBe(YOURS(id));
  await team.until(({ questions }) => Object.keys(questions.open).length === 2);
  // Beside the failure, where the agent has failed.
  const questions = inboxOf([team.agent.now]).filter(({ kind }) => kind === "question");
  expect(questions).toMatchObject([
    { text: expect.stringContaining("node-1 is yours: Sign it.") },
    { text: expect.stringContaining("node-2 is yours: Stamp it.") },
  ]);
  await sign(team);
  await stamp(team);
  const second = first === "node-1" ? "node-2" : "node-1";
  expect(await team.agent.publish(first, "The first.")).toBe(`${first} is published.`);
  expect(team.agent.now.roster.human).toMatchObject({ status: "waiting", for: "human", node_id: second });
  expect(await team.agent.publish(second, "The second.")).toBe(`${second} is published.`);
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Both." });
  expect(team.agent.now.roster.human?.status).toBe("idle");
}

test("HUMAN-WORK-3: two nodes are given to the human while the agent works", async () => {
  await using team = await startTeam(waitingBoth());
  await areBothWaiting(team);
  await areBothGivenAndPublished(team, "node-2");
});

test("HUMAN-WORK-3: two nodes are given to the human of a stopped agent, in this process and in the next", async () => {
  await using first = await startTeam(waitingBoth());
  await areBothWaiting(first);
  await first.agent.stop("human");
  await areBothGivenAndPublished(first, "node-1");
  await using second = await startTeam(waitingBoth());
  await areBothWaiting(second);
  await second.agent.stop("human");
  await areBothGivenAndPublished(await second.restart(), "node-2");
});

test("HUMAN-WORK-3: a second node is given to the human when their first has made a stopped agent go on", async () => {
  await using team = await startTeam(waitingBoth());
  await areBothWaiting(team);
  await team.agent.stop("human");
  await team.agent.assign("node-1", "human");
  await sign(team);
  expect(await team.agent.publish("node-1", "I signed it.")).toBe("node-1 is published.");
  await team.agent.assign("node-2", "human");
  await stamp(team);
  expect(await team.agent.publish("node-2", "I stamped it.")).toBe("node-2 is published.");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Both." });
});

test("HUMAN-WORK-3: two nodes are given to the human of a failed agent, which goes on with the first that is published", async () => {
  await using team = await startTeam({
    ...waitingBoth(),
    coordinator: script(...hireBoth, ...orderBoth, say("I wait."), fail("auth").after("Go on."), both),
  });
  await areBothWaiting(team);
  await team.agent.send("Go on.");
  await team.until(({ agent }) => agent.status === "failed");
  await areBothGivenAndPublished(team, "node-2");
});

/** Of every status one: running, waiting for node-1, cancelled, not begun, completed, failed. */
function everyStatus() {
  const node = (task: string, more: object) => call("create_work_node", { task, ...more });
  const coordinator = script(
    hire,
    call("spawn_worker", { name: "Ben" }),
    call("spawn_worker", { name: "Cem" }),
    node("Sign it.", { worker: "Ann" }),
    node("Post it.", { worker: "Ann", dependencies: ["node-1"] }),
    node("Seal it.", { worker: "Ann" }),
    node("Fold it.", { worker: "Ann" }),
    node("Weigh it.", { worker: "Ben" }),
    node("Stamp it.", { worker: "Cem" }),
    call("cancel_node", { node_id: "node-3", reason: "Wax is out." }),
    say("I wait."),
    say("I wait on.").after("node-5 completed", "node-6 failed"),
    ...Array.from({ length: 4 }, () => say("I wait on.")),
  );
  const ben = script(
    call("write_file", { path: "scratch/weight.md", content: "20 g" }),
    call("publish", { summary: "20 g" }),
  );
  // She hears what colleagues end, and waits on.
  const ann = script(...Array.from({ length: 6 }, () => call("check_messages", { wait: true })));
  const workers = { Ann: ann, Ben: ben, Cem: script(...silent, ...silent) };
  return { goal: "g", coordinator, workers };
}

test.each([
  ["works", async () => {}, ""],
  [
    "was stopped",
    (team: TestTeam) => team.agent.stop("human"),
    " g is stopped: nothing begins until you resume it: agiraph resume g",
  ],
  [
    "was paused",
    (team: TestTeam) => team.agent.pause("human"),
    " g is paused: nothing begins until you resume it: agiraph resume g",
  ],
])(
  "HUMAN-WORK-4: of an agent that %s, the human gets a node of every status, or hears what to do",
  async (_, rest, rests) => {
    await using team = await startTeam(everyStatus());
    const isSo = async () => {
      await isAnnWaiting(team);
      await team.until(({ board: { nodes } }) => nodes["node-5"]?.status === "completed");
      await team.until(({ board: { nodes } }) => nodes["node-6"]?.status === "failed");
      await team.until(({ roster }) => roster.coordinator?.status === "waiting");
    };
    await isSo();
    await rest(team);
    const answers: string[] = [];
    for (const id of ["node-1", "node-1", "node-2", "node-3", "node-4", "node-5", "node-6"])
      answers.push(await givenToHuman(team, id).catch((error: Error) => `refused: ${error.message}`));
    expect(answers).toEqual([
      YOURS("node-1"),
      YOURS("node-1"),
      `node-2 will be yours and comes to your inbox later: it needs node-1 first.${rests}`,
      YOURS("node-3"),
      YOURS("node-4"),
      'refused: node-5 is completed, and its files are published. To have more done: agiraph send g "what to do next"',
      YOURS("node-6"),
    ]);
    await team.until(({ questions }) => Object.keys(questions.open).length === 4);
    const questions = inboxOf([team.agent.now]).filter(({ kind }) => kind === "question");
    expect(questions.map((item) => ("text" in item ? item.text.split(":", 1)[0] : ""))).toEqual([
      "node-1 is yours",
      "node-3 is yours",
      "node-4 is yours",
      "node-6 is yours",
    ]);
  },
);

/** It finished without node-1, which failed, and with node-2. */
function finishedWithout(...later: ReturnType<typeof call>[]) {
  const two = call("create_work_node", { task: "Fold it.", worker: "Bea" });
  const coordinator = script(
    hire,
    call("spawn_worker", { name: "Bea" }),
    order,
    two,
    call("finish", { summary: "Unsigned." }).after("node-1 failed", "node-2 completed"),
    ...later,
  );
  const ann = script(call("write_file", { path: "scratch/half.md", content: "half" }), ...silent, ...silent);
  return {
    goal: "g",
    coordinator,
    workers: {
      Ann: ann,
      Bea: script(call("write_file", { path: "scratch/b.md", content: "b" }), call("publish", { summary: "folded" })),
    },
  };
}

const NOW_NODE_3 = `node-1 belongs to a run that is over; its work is now node-3. ${YOURS("node-3", "run-2")}`;

test("HUMAN-WORK-5: of an agent that has finished, what failed is the human's as work of the next run, which brings it in", async () => {
  await using team = await startTeam(
    finishedWithout(
      call("finish", { summary: "Signed after all." }).after("node-3 completed by your human: I signed it."),
    ),
  );
  await team.agent.idle();
  expect(await givenToHuman(team, "node-1")).toBe(NOW_NODE_3);
  // Again it is the same, and nobody has begun anything.
  expect(await givenToHuman(team, "node-1")).toBe(NOW_NODE_3);
  expect([team.agent.isWorking, team.agent.now.agent.status, team.agent.now.agent.goal]).toEqual([false, "idle", "g"]);
  expect(team.board().map(({ id, status, spec }) => [id, status, spec.run_id])).toEqual([
    ["node-1", "failed", "run-1"],
    ["node-2", "completed", "run-1"],
    ["node-3", "assigned", "run-2"],
  ]);
  const [item, ...more] = inboxOf([team.agent.now]).filter(({ kind }) => kind === "question");
  const folder = join(team.agent.log.dir, "runs/run-2/nodes/node-3/scratch");
  expect([item, more]).toEqual([
    expect.objectContaining({
      text: expect.stringMatching(
        /^node-3 is yours: Sign it\.\n\n\(This was node-1, which failed\. What there is of it: .*\/runs\/run-1\/nodes\/node-1\)\n\nIt needs: signed\.md\.\n/,
      ),
    }),
    [],
  ]);
  await writeFile(join(folder, "signed.md"), "me\n");
  expect(await team.agent.publish("node-3", "I signed it.")).toBe("node-3 is published.");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Signed after all." });
  // In lists the goal is still the person's own.
  expect(summarise(team.agent.now)).toMatchObject({ goal: "g", run_id: "run-2" });
  await expect(team.agent.assign("node-1", "human")).rejects.toThrow(
    "node-3 is completed, and its files are published.",
  );
});

test("HUMAN-WORK-5: killed after it was given, it is theirs with the next process, which goes on when it is resumed", async () => {
  await using before = await startTeam(
    finishedWithout(call("finish", { summary: "s" }).after("node-3 completed by your human: I signed it.")),
  );
  await before.agent.idle();
  await before.agent.assign("node-1", "human");
  await using team = await before.restart();
  expect(inboxOf([team.agent.now])).toContainEqual(
    expect.objectContaining({ kind: "question", text: expect.stringContaining("node-3 is yours: Sign it.") }),
  );
  await team.agent.start("recovered");
  await writeFile(join(team.agent.log.dir, "runs/run-2/nodes/node-3/scratch/signed.md"), "me\n");
  expect(await team.agent.publish("node-3", "I signed it.")).toBe("node-3 is published.");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "s" });
});

test("HUMAN-WORK-5: given while the next run begins, it is theirs in that run, and they do not wait for its end", async () => {
  const given = Promise.withResolvers<void>();
  await using team = await startTeam(
    finishedWithout(
      call("list_files").until(given.promise),
      call("finish", { summary: "s" }).after("node-3 completed by your human: I signed it."),
    ),
  );
  await team.agent.idle();
  const start = team.agent.start("new_goal", { goal: "Go on." });
  const answer = givenToHuman(team, "node-1");
  expect([team.agent.isWorking, team.agent.now.agent.run?.id]).toEqual([true, "run-1"]);
  await start;
  expect(await answer).toBe(NOW_NODE_3);
  given.resolve();
  await team.until(({ questions }) => Object.keys(questions.open).length === 1);
  await writeFile(join(team.agent.log.dir, "runs/run-2/nodes/node-3/scratch/signed.md"), "me\n");
  expect(await team.agent.publish("node-3", "I signed it.")).toBe("node-3 is published.");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "s" });
});

test("HUMAN-WORK-5: what failed in an earlier run is theirs beside the work of the run that is open", async () => {
  const assigned = Promise.withResolvers<void>();
  await using team = await startTeam(
    finishedWithout(
      call("list_files").until(assigned.promise),
      call("finish", { summary: "s" }).after("node-3 completed by your human: I signed it."),
    ),
  );
  await team.agent.idle();
  await team.agent.send("Go on.");
  expect(await givenToHuman(team, "node-1")).toBe(NOW_NODE_3);
  expect(await givenToHuman(team, "node-1")).toBe(NOW_NODE_3);
  assigned.resolve();
  await team.until(({ questions }) => Object.keys(questions.open).length === 1);
  await writeFile(join(team.agent.log.dir, "runs/run-2/nodes/node-3/scratch/signed.md"), "me\n");
  expect(await team.agent.publish("node-3", "I signed it.")).toBe("node-3 is published.");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "s" });
  expect(team.agent.now.agent.runs).toBe(2);
});

test("HUMAN-WORK-4: of an agent that has finished, what is completed stays as it is, and others get nothing of it", async () => {
  await using team = await startTeam(finishedWithout());
  await team.agent.idle();
  const refusals = await Promise.all(
    [
      ["node-2", "human"],
      ["node-1", "Bea"],
    ].map(([node = "", to = ""]) => team.agent.assign(node, to).catch((error: Error) => error.message)),
  );
  expect(refusals).toEqual([
    'node-2 is completed, and its files are published. To have more done: agiraph send g "what to do next"',
    'run-1, in which node-1 was, is over. You can do node-1 yourself: agiraph assign g node-1 human. To have more done: agiraph send g "what to do next"',
  ]);
});
