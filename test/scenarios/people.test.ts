import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Situation } from "../../src/projections/index.ts";
import { both, call, hang, manualClock, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const write = call("write_file", { path: "scratch/a.md", content: "…" });
const publish = call("publish", { summary: "done" });
const finish = call("finish", { summary: "done" });

describe("a question", () => {
  test("takes nobody's place while it waits: with room for one, the next begins", async () => {
    await using team = await startTeam({
      goal: "Go",
      config: { max_concurrent: 1 },
      coordinator: script(
        both(call("create_work_node", { task: "One" }), call("create_work_node", { task: "Two" })),
        finish.after("node-1 completed", "node-2 completed"),
      ),
      workers: {
        Alice: script(call("ask_human", { question: "Which?" }), write.after("Your human answers: Blue"), publish),
        Bob: script(write, publish),
      },
    });
    await team.until(({ board }) => board.nodes["node-2"]?.status === "completed");
    expect([team.agent.now.agent.status, team.agent.now.roster.alice]).toMatchObject([
      "waiting_for_human",
      { status: "waiting", for: "human" },
    ]);
    const calls = team.agent.now.spending.total.calls;
    expect(await team.agent.respond("Blue")).toBe("Answered.");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    // Waiting cost no call: Alice had asked, Bob had written and published, the coordinator had heard of it.
    expect(calls).toBeLessThanOrEqual(5);
  });

  test("may take longer than the contract allows the work: waiting for people is not work", async () => {
    const clock = manualClock();
    const coordinator = script(
      call("create_work_node", { task: "Paint it" }),
      call("finish", { summary: "painted" }).after("node-1 completed"),
    );
    // She waits for Bob, and Bob for the human.
    const alice = script(
      call("create_work_node", { task: "Choose the paint" }),
      write.after("node-2 completed"),
      publish,
    );
    const bob = script(
      call("ask_human", { question: "Which colour?" }),
      write.after("Your human answers: Blue"),
      publish,
    );
    const config = { contract: { timeout_seconds: 1800 } };
    await using team = await startTeam({ goal: "Go", clock, coordinator, workers: { Alice: alice, Bob: bob }, config });
    const isWaiting = ({ roster }: Situation) =>
      ["coordinator", "alice", "bob"].every((id) => roster[id]?.status === "waiting");
    await team.until(isWaiting);
    await clock.advance(24 * 3_600_000);
    await team.agent.respond("Blue");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "painted" });
  });

  test("is answered by whatever is said first; who comes later is told what was said", async () => {
    await using team = await asking({ question: "Which?", choices: ["Red", "Blue"] });
    const both = await Promise.allSettled([
      team.agent.respond("2", "question-1", "webhook"),
      team.agent.respond("Red", "question-1", "terminal"),
    ]);
    expect(both).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "conflict", message: "question-1 has already been answered: Blue" } },
    ]);
    await team.outcome();
    expect(await answers(team)).toEqual(["Your human answers: Blue"]);
  });

  test.each([
    [{ default: "Blue" }, "No answer came in time. Go on with: Blue"],
    [{}, "No answer came in time. Decide yourself."],
  ])("with a deadline does not wait for ever: %j", async (more, answer) => {
    const clock = manualClock();
    await using team = await asking({ question: "Which?", deadline_seconds: 3600, ...more }, clock);
    await clock.advance(3_599_999);
    expect(team.agent.now.agent.status).toBe("waiting_for_human");
    await clock.advance(1);
    await team.outcome();
    expect(await answers(team)).toEqual([answer]);
    expect(team.agent.now.thread.filter(({ from }) => from === "human")).toHaveLength(1); // only the goal
  });

  test("is still open after a stop, keeps its deadline, and its answer takes the work up again", async () => {
    const clock = manualClock();
    await using team = await asking({ question: "Which?", deadline_seconds: 3600 }, clock);
    await team.agent.stop("human");
    expect(Object.keys(team.agent.now.questions.open)).toEqual(["question-1"]);
    await team.agent.respond("Late, but here: Blue");
    await team.outcome();
    expect(await answers(team)).toEqual(["Your human answers: Late, but here: Blue"]);
    const asked = (await team.facts()).filter((fact) => fact.type === "human.question");
    expect(asked).toHaveLength(1);
  });

  test("whose deadline passed while nobody was there is decided when work is taken up", async () => {
    const clock = manualClock();
    await using team = await asking({ question: "Which?", deadline_seconds: 3600, default: "Blue" }, clock);
    await team.agent.stop("human");
    await clock.advance(3_600_000);
    await team.agent.start("resumed");
    await team.outcome();
    expect(await answers(team)).toEqual(["No answer came in time. Go on with: Blue"]);
  });

  test.each([
    ["nothing is asked", undefined, "conflict", "has no open question"],
    ["it is not there", "question-9", "not_found", 'There is no question "question-9"'],
  ] as const)("is refused an answer when %s", async (_, id, code, words) => {
    await using team = await startTeam({ goal: "Go", coordinator: script(hang()) });
    await expect(team.agent.respond("x", id)).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
  });

  test("without its own name is refused an answer while there are several", async () => {
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(
        both(call("create_work_node", { task: "One" }), call("create_work_node", { task: "Two" })),
        finish.after("node-1 completed", "node-2 completed"),
      ),
      workers: {
        Alice: script(call("ask_human", { question: "First?" }), write.after("answers: 1st"), publish),
        Bob: script(call("ask_human", { question: "Second?" }), write.after("answers: 2nd"), publish),
      },
    });
    await team.until(({ questions }) => Object.keys(questions.open).length === 2);
    await expect(team.agent.respond("1st")).rejects.toMatchObject({
      message: expect.stringMatching(/Say which with --question:\nquestion-1 \(\w+\): \w+\?\nquestion-2/),
    });
    for (const { id, text } of Object.values(team.agent.now.questions.open))
      await team.agent.respond(text === "First?" ? "1st" : "2nd", id);
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });

  test("is not answered by a message: whoever asked hears it, and the answer when it comes", async () => {
    const coordinator = script(
      call("ask_human", { question: "Which colour?" }),
      call("list_files").after(
        "No answer yet: a message came first and follows. question-1 stays open.",
        "[Message from your human]: Mind the doors.",
      ),
      say("I wait for the colour."),
      finish.after("[You asked (question-1): Which colour?]\nYour human answers: Blue"),
    );
    await using team = await startTeam({ goal: "Go", coordinator });
    await team.until(({ questions }) => "question-1" in questions.open);
    expect(await team.agent.send("Mind the doors.")).toBe(
      "Sent to coordinator. This does not answer question-1, which stays open.",
    );
    await team.until(({ roster, questions }) => {
      const lead = roster.coordinator;
      return questions.open["question-1"]?.deferred === true && lead?.status === "waiting" && lead.for === "human";
    });
    expect(await team.agent.respond("Blue")).toBe("Answered.");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(team.agent.now.questions).toMatchObject({
      asked: 1,
      open: {},
      answered: {},
      settled: [{ id: "question-1", answer: { text: "Blue" } }],
    });
  });

  test("that was put aside for a message keeps its deadline, also in the next life", async () => {
    const clock = manualClock();
    const ask = call("ask_human", { question: "Which?", deadline_seconds: 600, default: "Red" });
    const coordinator = script(
      ask,
      call("check_messages", { wait: true }).after("question-1 stays open", "[Message from your human]: Hello"),
      finish.after("You have new messages", "No answer came in time. Go on with: Red"),
    );
    await using team = await startTeam({ goal: "Go", clock, coordinator });
    await team.until(({ questions }) => "question-1" in questions.open);
    await team.agent.send("Hello");
    const isWaiting = ({ roster: { coordinator: lead }, questions }: Situation) =>
      questions.open["question-1"]?.deferred === true && lead?.status === "waiting";
    await team.until(isWaiting);
    await team.agent.halt();
    await team.agent.recover();
    await team.until(isWaiting);
    await clock.advance(600_000);
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });

  test("of a worker is put aside for a message too; asked again, it is not put twice", async () => {
    const again = call("ask_human", { question: "Which?" });
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(call("create_work_node", { task: "One" }), finish.after("node-1 completed")),
      workers: {
        Alice: script(
          again,
          again.after("[Message from your human]: Soon"),
          say("I wait.").after("question-1 is still open."),
          write.after("Your human answers: Blue"),
          publish,
        ),
      },
    });
    await team.until(({ questions }) => "question-1" in questions.open);
    await team.agent.send("Soon", "Alice");
    await team.until(
      ({ roster: { alice }, questions }) =>
        questions.open["question-1"]?.deferred === true && alice?.status === "waiting" && alice.for === "human",
    );
    await team.agent.respond("Blue", "question-1");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(team.agent.now.questions.asked).toBe(1);
  });

  test("that gives a default and no deadline is refused: it would never be used", async () => {
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(call("ask_human", { question: "Which?", default: "x" }), finish.after("Not asked")),
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });
});

describe("what the human says", () => {
  test("comes before calls with an effect that have not begun; those that only look are made all the same", async () => {
    const [thinking, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(
        both(call("list_files"), call("write_file", { path: "a.md", content: "a" }), call("check_board")).until(
          told.promise,
        ),
        finish.after("Not run: a message came first", "[Message from your human]: Stop writing."),
      ),
    });
    team.agent.log.subscribe((fact) => fact.type === "model.called" && thinking.resolve());
    await thinking.promise;
    expect(await team.agent.send("Stop writing.")).toBe("Sent to coordinator.");
    told.resolve();
    await team.outcome();
    const results = (await team.conversation()).filter((entry) => entry.role === "tool");
    expect(results.map(({ tool, ok }) => [tool, ok])).toEqual([
      ["list_files", true],
      ["write_file", false],
      ["check_board", true],
      ["finish", true],
    ]);
  });

  test("wakes an agent that was stopped, which hears it with the state of the board", async () => {
    const stopped = Promise.withResolvers<void>();
    const coordinator = script(
      call("list_files").until(stopped.promise),
      finish.after("had stopped the work", "[Message from your human]: Try again."),
    );
    await using team = await startTeam({ goal: "Go", coordinator });
    await team.until(({ agent }) => agent.status === "working");
    await team.agent.stop("human");
    stopped.resolve();
    await team.agent.send("Try again.");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });

  test("waits for an agent that is paused", async () => {
    const paused = Promise.withResolvers<void>();
    const coordinator = script(
      call("list_files").until(paused.promise),
      finish.after("[Message from your human]: When you are back."),
    );
    await using team = await startTeam({ goal: "Go", coordinator });
    await team.until(({ agent }) => agent.status === "working");
    await team.agent.pause("human");
    paused.resolve();
    expect(await team.agent.send("When you are back.")).toMatch(/is paused and gets it when it is resumed/);
    expect(team.agent.now.agent.status).toBe("paused");
    await team.agent.start("resumed");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });

  test("is the next goal of an agent that has finished: a second run in the same conversation", async () => {
    const coordinator = script(finish, call("finish", { summary: "again" }).after("Now the other one."));
    await using team = await startTeam({ goal: "Go", coordinator });
    await team.agent.idle();
    expect(await team.agent.send("Now the other one.")).toMatch(/takes it as its next goal/);
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "again" });
    expect(team.agent.now.agent.run).toMatchObject({ id: "run-2", goal: "Now the other one." });
    const heard = coordinator.requests[1]?.history
      .filter((entry) => entry.role === "user")
      .map(({ content }) => content);
    expect(heard).toEqual(["Go", "Now the other one."]);
    expect(await readFile(join(team.agent.log.dir, "GOAL.md"), "utf8")).toBe("Now the other one.\n");
  });

  test("in the very moment of finishing is not lost: it is the next goal", async () => {
    const coordinator = script(finish, call("finish", { summary: "again" }).after("One more thing."));
    await using team = await startTeam({ goal: "Go", coordinator });
    // The goal is met, and nobody has said so yet.
    const said = Promise.withResolvers<void>();
    team.agent.log.subscribe((fact) => {
      if (fact.type === "tool.result" && team.agent.now.agent.runs === 1)
        team.agent.send("One more thing.").then(() => said.resolve(), said.reject);
    });
    await said.promise;
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "again" });
    expect(team.agent.now.agent.runs).toBe(2);
    expect(team.agent.now.letters.queued).toEqual({});
  });

  test("in the very moment of finishing waits for those who still put their things away", async () => {
    const coordinator = script(
      call("create_work_node", { task: "Perhaps later", hold: true }),
      finish,
      call("finish", { summary: "again" }).after("One more thing."),
    );
    await using team = await startTeam({ goal: "Go", coordinator, workers: { Alice: script(hang()) } });
    const said = Promise.withResolvers<void>();
    team.agent.log.subscribe((fact) => {
      if (fact.type !== "tool.result" || fact.data.tool !== "finish" || team.agent.now.agent.runs > 1) return;
      // Somebody begins what was held just when the run ends: stopping them takes a moment.
      team.agent.log.append({ facts: [{ type: "node.released", data: { node_id: "node-1" } }] });
      team.agent.send("One more thing.").then(() => said.resolve(), said.reject);
    });
    await said.promise;
    await team.until(({ agent }) => agent.runs === 2 && agent.status === "completed");
    await team.agent.idle();
    expect(team.agent.now.agent.run).toMatchObject({ id: "run-2", goal: "One more thing." });
  });

  test("and nobody heard before the process died is the next goal of whoever opens the home again", async () => {
    const coordinator = script(finish, call("finish", { summary: "again" }).after("One more thing."));
    await using team = await startTeam({ goal: "Go", coordinator });
    await team.agent.idle();
    // Said when the run was ending: on disk, and then the process was gone.
    const data = { message_id: "msg-9", from: "human", to: "coordinator", text: "One more thing.", file: "f", hops: 1 };
    await team.agent.log.append({ facts: [{ type: "message.sent", data }] }).durable;
    await using later = await team.restart();
    expect(later.agent.now.agent.runs).toBe(1);
    later.agent.keepTime();
    await later.until(({ agent }) => agent.runs === 2 && agent.status === "completed");
    expect([later.agent.now.agent.run?.goal, later.agent.now.letters.queued]).toEqual(["One more thing.", {}]);
  });

  test("as a hint reaches the coordinator while it works, and is refused when it does not", async () => {
    const thinking = Promise.withResolvers<void>();
    const hinted = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(
        say("Thinking.").until(hinted.promise),
        finish.after("[A hint from your human]: Mind the units."),
      ),
    });
    team.agent.log.subscribe((fact) => fact.type === "model.called" && thinking.resolve());
    await thinking.promise;
    await team.agent.nudge("Mind the units.");
    hinted.resolve();
    await team.outcome();
    await expect(team.agent.nudge("Too late.")).rejects.toMatchObject({ code: "conflict" });
  });

  test("to somebody who is not there is refused with who is", async () => {
    await using team = await startTeam({ goal: "Go", coordinator: script(hang()) });
    await expect(team.agent.send("Hello", "Zaphod")).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining('There is nobody named "Zaphod"'),
    });
  });
});

test("words in answer to the human are heard by them, once; words of somebody at work are not", async () => {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      both(say("I begin."), call("list_files")),
      both(say("I look again."), call("list_files")).until(asked.promise),
      both(say("Half of it."), call("list_files")).after("How far are you?"),
      both(say("I look a last time."), call("list_files")).until(answered.promise),
      both(say("That was it."), finish),
    ),
  });
  await team.until(({ spending }) => spending.total.calls === 1);
  await team.agent.send("How far are you?");
  asked.resolve();
  answered.resolve();
  await team.outcome();
  expect(team.agent.now.thread.map(({ from, text }) => `${from}: ${text}`)).toEqual([
    "human: Go",
    "coordinator: I begin.",
    "human: How far are you?",
    "coordinator: Half of it.",
    "coordinator: done",
  ]);
  const unread = () => Object.values(team.agent.now.letters.queued).map(({ text }) => text);
  expect(unread()).toEqual(["I begin.", "Half of it."]);
  await team.agent.seen();
  expect(unread()).toEqual([]);
});

async function asking(question: object, clock = manualClock()): Promise<TestTeam> {
  const team = await startTeam({
    goal: "Go",
    clock,
    coordinator: script(call("ask_human", question), finish),
  });
  await team.until(({ agent }) => agent.status === "waiting_for_human");
  return team;
}

async function answers(team: TestTeam): Promise<string[]> {
  const results = (await team.conversation()).filter((entry) => entry.role === "tool" && entry.tool === "ask_human");
  return results.map((entry) => (entry.role === "tool" ? entry.content : ""));
}
