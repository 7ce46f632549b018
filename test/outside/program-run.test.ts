import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { troublesOf } from "../../src/projections/index.ts";
import { NO_USAGE, type ProgramProfile } from "../../src/protocol/index.ts";
import { call, say, script, startTeam, until } from "../../src/testing/index.ts";
import { type Play, type ScriptedProgram, scriptedPrograms } from "../../src/testing/scripted-program.ts";
import { skipped } from "../try-sandbox.ts";

/** A coordinator that hires one program for one node. */
function hiring(end = "node-1 completed") {
  return script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", deliverables: ["a.md"], worker: "Clara" }),
    call("finish", { summary: "done" }).after(end),
  );
}

async function write(program: ScriptedProgram, name = "a.md", text = "hello\n"): Promise<void> {
  await writeFile(`${program.setup.cwd}/${name}`, text);
}

const begun = { kind: "begun", session_id: "s-1" } as const;
const done = { kind: "rested", how: "done", words: "" } as const;

const writesAndPublishes: Play = async (program) => {
  program.emit(begun, { kind: "said", text: "I write it." });
  program.emit({ kind: "called", call_id: "c1", tool: "Write", args: { path: "a.md" } });
  const usage = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 };
  program.emit({ kind: "used", model: "claude-x", usage, cost_usd: 0.01 });
  await write(program);
  program.emit({ kind: "answered", call_id: "c1", ok: true, content: "written" });
  await program.use("publish", { summary: "It is written." });
};

test("a program is hired like any worker, works in its scratch folder and publishes with our tool", async () => {
  const outside = scriptedPrograms(writesAndPublishes);
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const node = team.agent.now.board.nodes["node-1"];
  expect(node).toMatchObject({ status: "completed", worker_id: "clara", summary: "It is written." });
  expect(outside.started.map(({ setup, isClosed }) => [setup.words, setup.resume, isClosed])).toEqual([
    ["Write it down.\n\n## Deliverables (in your current folder)\n\n- a.md", null, true],
  ]);
  const entries = await team.conversation("runs/run-1/workers/clara/conversation.jsonl");
  expect(entries.map((entry) => [entry.role, entry.role === "assistant" ? entry.content.length : ""])).toEqual([
    ["system", ""],
    ["user", ""],
    ["assistant", 2],
    ["tool", ""],
    ["assistant", 1],
    ["tool", ""],
  ]);
  const facts = (await team.facts()).filter((fact) => "worker_id" in fact.data && fact.data.worker_id === "clara");
  expect(facts.map((fact) => fact.type)).toEqual([
    "worker.spawned",
    "node.reserved",
    "node.assigned",
    "worker.busy",
    "node.started",
    "process.started",
    "model.called",
    "worker.session",
    "model.responded",
    "tool.called",
    "tool.result",
    "tool.called",
    "process.exited",
    "node.published",
    "tool.result",
    "node.completed",
    "worker.idle",
  ]);
});

test("what a program is allowed to do in the middle of its reply is on record before it is allowed", async () => {
  const onRecord: string[][] = [];
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun, { kind: "said", text: "I run it." });
    program.emit({ kind: "called", call_id: "want-1", tool: "Bash", args: { command: "echo once >> a.md" } });
    expect(await program.want("Bash", { command: "echo once >> a.md" })).toEqual({ allow: true });
    const entries = await team.conversation("runs/run-1/workers/clara/conversation.jsonl");
    onRecord.push(
      entries.flatMap((entry) => (entry.role === "assistant" ? entry.content.map(({ type }) => type) : [])),
    );
    program.emit({ kind: "used", model: "claude-x", usage: { ...NO_USAGE, output: 5 }, cost_usd: 0.01 });
    await write(program);
    program.emit({ kind: "answered", call_id: "want-1", ok: true, content: "" });
    await program.use("publish", { summary: "It is written." });
  });
  outside.profile = { ...outside.profile, permissions: "allow" };
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(onRecord).toEqual([["text", "call"]]);
});

test("a program that ends its turn without publishing is reminded three times, then its files are published", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    await write(program);
    program.emit({ kind: "said", text: "All done." }, done);
    for (let reminder = 1; reminder <= 3; reminder++) {
      expect(await program.hear()).toContain("nothing is published");
      program.emit(done);
    }
    await new Promise(() => {});
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "All done." });
});

test("a turn that waits for the human costs nothing, and the answer is said to it once", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    expect((await program.use("ask_human", { question: "Which colour?" })).content).toMatch(/^Asked. End your turn/);
    program.emit({ kind: "said", text: "I asked." }, done);
    expect(await program.hear()).toBe("You asked: Which colour?\nYour human answers: red");
    await write(program);
    await program.use("publish", { summary: "Red." });
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ roster }) => roster.clara?.status === "waiting");
  expect(team.agent.now.roster.clara).toMatchObject({ status: "waiting", for: "human" });
  await team.agent.respond("red", "question-1");
  await team.outcome();
  expect(team.agent.now.questions).toMatchObject({ asked: 1, open: {}, answered: {} });
  expect(outside.started.map(({ said }) => said.length)).toEqual([1]);
});

test("a program that waits for its own sub-node is told of its end, and not reminded meanwhile", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    await program.use("create_work_node", { task: "A part.", inference: "single" });
    program.emit(done);
    expect(await program.hear()).toContain("node-2 completed");
    await write(program);
    await program.use("publish", { summary: "All of it." });
  });
  const workers = { Alice: script(say("The part.")) };
  await using team = await startTeam({ goal: "g", coordinator: hiring(), workers, outside });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "All of it." });
});

test("a message is said to it while it works, and is received when the words are on disk", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun, { kind: "said", text: "Working." });
    expect(await program.hear()).toBe("[Message from your human]: Hurry.");
    await write(program);
    await program.use("publish", { summary: "Hurried." });
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  await team.agent.send("Hurry.", "Clara");
  await team.outcome();
  const received = (await team.facts()).filter((fact) => fact.type === "message.received");
  expect(received.map((fact) => fact.data)).toEqual([{ message_id: "msg-1", by: "clara" }]);
});

describe("every ending has an outcome", () => {
  /** Both tries end alike; the second takes up the session of the first. */
  async function failing(play: Play, silence: Pick<ProgramProfile, "silence_seconds"> = {}) {
    const outside = scriptedPrograms(play, play);
    outside.profile = { ...outside.profile, ...silence };
    await using team = await startTeam({ goal: "g", coordinator: hiring("node-1 failed"), outside });
    await team.outcome();
    const node = team.agent.now.board.nodes["node-1"];
    const types = (await team.facts()).map((fact) => fact.type);
    return {
      outcome: node && "outcome" in node ? node.outcome : node,
      retried: types.filter((type) => type === "node.retried").length,
      exits: types.filter((type) => type === "process.exited").length,
      resumed: outside.started.map(({ setup }) => setup.resume),
      closed: outside.started.map(({ isClosed }) => isClosed),
    };
  }
  const twice = { retried: 1, exits: 2, resumed: [null, "s-1"], closed: [true, true] };

  test("it is silent, or hangs", async () => {
    const error = "It gave no sign of life for 0.05 s.";
    const hangs = failing(
      async (program) => {
        program.emit(begun);
        await program.followed();
        await new Promise(() => {});
      },
      { silence_seconds: 0.05 },
    );
    expect(await hangs).toEqual({ outcome: { kind: "failed", error }, ...twice });
  });

  test("it crashes, with what it said last", async () => {
    const crash = failing(async (program) => {
      program.emit(begun);
      throw new Error("segmentation fault");
    });
    const error = "The program ended (exit code 70) without publishing. It said: segmentation fault";
    expect(await crash).toEqual({ outcome: { kind: "failed", error }, ...twice, closed: [true, true] });
  });

  test("it exits in good order and has published nothing", async () => {
    const exit = failing(async (program) => program.emit(begun));
    const error = "The program ended (exit code 0) without publishing.";
    expect(await exit).toEqual({ outcome: { kind: "failed", error }, ...twice });
  });

  test("its model cannot be reached", async () => {
    const failed = failing(async (program) => {
      program.emit(begun, { kind: "rested", how: "failed", words: "API Error: 401 bad key" });
      await new Promise(() => {});
    });
    expect(await failed).toEqual({ outcome: { kind: "failed", error: "API Error: 401 bad key" }, ...twice });
  });

  test("it never publishes and has not written what was asked for", async () => {
    const idle = failing(async (program) => {
      program.emit(begun);
      for (;;) {
        program.emit({ kind: "said", text: "Done." }, done);
        await program.hear();
      }
    });
    const error =
      "It ended its turn 4 times and never published: scratch/ is empty. Write your results there first, e.g. scratch/report.md.";
    expect(await idle).toEqual({ outcome: { kind: "failed", error }, ...twice });
  });

  test("its turns are used up: it is interrupted, and what there is is handed over", async () => {
    const outside = scriptedPrograms(async (program) => {
      program.emit(begun);
      await write(program, "half.md");
      for (let turn = 1; turn <= 3; turn++) {
        program.emit({ kind: "said", text: `Turn ${turn}.` });
        program.emit({ kind: "used", model: "m", usage: NO_USAGE, cost_usd: 0 });
      }
      await program.interruption();
      await new Promise(() => {});
    });
    const config = { contract: { max_iterations_per_node: 3 } };
    await using team = await startTeam({ goal: "g", coordinator: hiring("node-1 failed"), outside, config });
    await team.outcome();
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
      status: "failed",
      outcome: { kind: "exhausted", turns: 3 },
      files: [{ path: "half.md" }],
    });
    expect(outside.started.map(({ interrupted, isClosed }) => [interrupted, isClosed])).toEqual([[1, true]]);
  });

  test("the money is spent: it is interrupted before it spends more", async () => {
    const outside = scriptedPrograms(async (program) => {
      program.emit(begun);
      await write(program, "half.md");
      program.emit({ kind: "used", model: "m", usage: NO_USAGE, cost_usd: 0.6 });
      program.emit({ kind: "used", model: "m", usage: NO_USAGE, cost_usd: 0.6 });
      await program.interruption();
      await new Promise(() => {});
    });
    await using team = await startTeam({ goal: "g", coordinator: hiring(), outside, budget_usd: 1 });
    await until(team.agent, ({ board }) => board.nodes["node-1"]?.status === "failed");
    expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
      outcome: { kind: "budget_exhausted", spent_usd: 1.2 },
      files: [{ path: "half.md" }],
    });
    expect(outside.started.map(({ interrupted }) => interrupted)).toEqual([1]);
  });

  test("it is stopped: nothing of it is left", async () => {
    const outside = scriptedPrograms(async (program) => {
      program.emit(begun);
      await new Promise(() => {});
    });
    await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
    await until(team.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
    await team.agent.stop("human");
    expect(outside.started.map(({ isClosed }) => isClosed)).toEqual([true]);
    expect(team.agent.now.roster.clara?.status).toBe("stopped");
  });
});

test("what it said last is the answer where one answer was asked for", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun, { kind: "said", text: "42" }, done);
    await new Promise(() => {});
  });
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "How many?", inference: "single", worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
  await using team = await startTeam({ goal: "g", coordinator, outside });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ summary: "42", files: [{ path: "answer.md" }] });
});

test("a session that is lost, as the program says, is replaced by a new one, with all that it needs to know", async () => {
  const outside = scriptedPrograms(
    async (program) => program.emit(begun),
    async (program) => program.emit({ kind: "lost", why: "no such session" }),
    async (program) => {
      program.emit({ kind: "begun", session_id: "s-2" });
      await write(program);
      await program.use("publish", { summary: "At last." });
    },
  );
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await team.outcome();
  expect(outside.started.map(({ setup }) => setup.resume)).toEqual([null, "s-1", null]);
  expect(outside.started[2]?.setup.words).toContain("Write it down.\n\nThis was begun before");
  expect(team.agent.now.outside.sessions).toEqual({ "node-1": { worker_id: "clara", session_id: "s-2" } });
});

const early: Play = async () => {};

test("a program that exits before it has resumed is resumed once more, not begun anew", async () => {
  const outside = scriptedPrograms(
    async (program) => program.emit(begun),
    early,
    async (program) => {
      program.emit(begun);
      await write(program);
      await program.use("publish", { summary: "At last." });
    },
  );
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await team.outcome();
  expect(outside.started.map(({ setup }) => setup.resume)).toEqual([null, "s-1", "s-1"]);
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "At last." });
});

test("who dies twice before it has begun has lost its session, also where it does not say so", async () => {
  const outside = scriptedPrograms(
    async (program) => program.emit(begun),
    early,
    early,
    async (program) => {
      program.emit({ kind: "begun", session_id: "s-2" });
      await write(program);
      await program.use("publish", { summary: "At last." });
    },
  );
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await team.outcome();
  expect(outside.started.map(({ setup }) => setup.resume)).toEqual([null, "s-1", "s-1", null]);
});

for (const [how, last] of [
  ["taken up", "s-1"],
  ["begun anew", null],
] as const)
  test(`what is said to a program that dies before it has begun is said again when it is ${how}`, async () => {
    const told = Promise.withResolvers<void>();
    const outside = scriptedPrograms(
      async (program) => program.emit(begun),
      async (program) => {
        told.resolve();
        await program.hear();
        if (last === null) program.emit({ kind: "lost", why: "no such session" });
      },
      async (program) => {
        program.emit({ kind: "begun", session_id: last ?? "s-2" });
        await write(program);
        await program.use("publish", { summary: "Hurried." });
      },
    );
    await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
    await told.promise;
    await team.agent.send("Hurry.", "Clara");
    await team.outcome();
    expect(outside.started.map(({ setup }) => setup.resume)).toEqual([null, "s-1", last]);
    expect(outside.started[2]?.setup.words).toContain("[Message from your human]: Hurry.");
  });

test("what it was told in a session that is lost is told again in the new one", async () => {
  const outside = scriptedPrograms(
    async (program) => {
      program.emit(begun);
      await program.hear();
      for (const text of ["One.", "Two.", "Three."]) {
        program.emit(
          { kind: "said", text },
          { kind: "used", model: "m", usage: { ...NO_USAGE, output: 1 }, cost_usd: 0 },
        );
      }
      await program.followed();
    },
    async (program) => program.emit({ kind: "lost", why: "no such session" }),
    async (program) => {
      program.emit({ kind: "begun", session_id: "s-2" });
      await write(program);
      await program.use("publish", { summary: "Bien." });
    },
  );
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  await team.agent.send("Say it in French.", "Clara");
  await team.outcome();
  expect(outside.started[2]?.setup.words).toContain("[Message from your human]: Say it in French.");
});

test("a message in the same breath as the publish goes out, and the work is published", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    await write(program);
    // It is ended for its publish when the message is on record.
    program.onClose = async () => {
      program.use("send_message", { to: "coordinator", content: "It is done." }).catch(() => {}); // never answered
      await isSent.promise;
    };
    await program.use("publish", { summary: "Done." });
  });
  const isSent = Promise.withResolvers<void>();
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  team.agent.log.subscribe(({ type, data }) => {
    if (type === "tool.result" && data.tool === "send_message") isSent.resolve();
  });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "Done." });
  expect((await team.facts()).filter(({ type }) => type === "node.retried")).toEqual([]);
});

test("what it calls while it is taken at its files takes nothing from them", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    await write(program);
    program.onClose = async () => {
      const args = { to: "coordinator", content: "It is done." };
      const late = { type: "call", id: "late", name: "send_message", args } as const;
      program.tools?.run(late, new AbortController().signal).catch(() => {}); // nobody waits for it
      await isSent.promise;
    };
    for (let turn = 1; turn <= 4; turn++) {
      program.emit({ kind: "said", text: "All done." }, done);
      if (turn < 4) await program.hear();
    }
    await new Promise(() => {});
  });
  const isSent = Promise.withResolvers<void>();
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  team.agent.log.subscribe(({ type, data }) => {
    if (type === "tool.result" && data.tool === "send_message") isSent.resolve();
  });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "All done." });
  expect((await team.facts()).filter(({ type }) => type === "node.retried")).toEqual([]);
});

test.skipIf(skipped)(`who dies in the middle of its publish has published ${skipped}`, async () => {
  const isCalled = Promise.withResolvers<void>();
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    await write(program);
    program.use("publish", { summary: "Done." }).catch(() => {}); // never answered
    await isCalled.promise;
  });
  // The check goes on until the program has gone.
  const checks = ["until [ -e exited ]; do sleep 0.01; done; rm exited"];
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", checks, worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
  await using team = await startTeam({ goal: "g", coordinator, outside, env: { PATH: process.env.PATH } });
  team.agent.log.subscribe(({ type, data }) => {
    if (type === "tool.called" && data.tool === "publish") isCalled.resolve();
    if (type === "process.exited") void writeFile(`${outside.started[0]?.setup.cwd}/exited`, "");
  });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", files: [{ path: "a.md" }] });
  expect((await team.facts()).filter(({ type }) => type === "node.retried")).toEqual([]);
});

test("a program that nobody has is refused with what to do, and nobody is hired", async () => {
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "clippy" }),
    call("finish", { summary: "none" }).after("Not hired: There is no program"),
  );
  await using team = await startTeam({ goal: "g", coordinator, env: { PATH: "/nowhere" } });
  await team.outcome();
  expect(Object.keys(team.agent.now.roster)).toEqual(["coordinator"]);
});

test("what was said to it and never answered is said again after a restart, as such, and not by the mail", async () => {
  const outside = scriptedPrograms(
    async (program) => {
      program.emit(begun, { kind: "said", text: "Working." });
      await program.hear();
      await new Promise(() => {});
    },
    async (program) => {
      program.emit(begun);
      await write(program);
      await program.use("publish", { summary: "Hurried." });
    },
  );
  const before = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(before.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  await before.agent.send("Hurry.", "Clara");
  await until(before.agent, ({ letters }) => Object.keys(letters.queued).length === 0);
  await using team = await before.restart();
  await team.agent.start("recovered");
  await team.outcome();
  const [, second] = outside.started;
  expect([second?.setup.resume, second?.said]).toEqual(["s-1", []]);
  expect(second?.setup.words).toContain(
    "in case you did not hear it:\n\nWrite it down.\n\n## Deliverables (in your current folder)\n\n- a.md\n\n[Message from your human]: Hurry.",
  );
});

test("its files are sealed when it has gone: what it writes in its last moment is not published unseen", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    await write(program);
    program.onClose = () => write(program, "late.md");
    await program.use("publish", { summary: "Done." });
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ files: [{ path: "a.md" }, { path: "late.md" }] });
});

test("a call by the door is on disk before it begins, and its result before it is told", async () => {
  const seen: string[] = [];
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    await program.use("send_message", { to: "coordinator", content: "Hello" });
    await write(program);
    await program.use("publish", { summary: "Done." });
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "message.sent" || ("tool" in fact.data && fact.data.tool === "send_message"))
      seen.push(fact.type);
  });
  await team.outcome();
  expect(seen).toEqual(["tool.called", "message.sent", "tool.result"]);
});

test("what the program says of a whole turn corrects what we thought its calls cost", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun, { kind: "used", model: "m", usage: NO_USAGE, cost_usd: 0.25 });
    program.emit({ ...done, cost_usd: 1 });
    await program.hear();
    program.emit({ kind: "used", model: "m", usage: NO_USAGE, cost_usd: 0.75 }, { ...done, cost_usd: 0.5 });
    await program.hear();
    await write(program);
    await program.use("publish", { summary: "Done." });
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await team.outcome();
  expect(team.agent.now.spending.by_worker.clara).toMatchObject({ calls: 2, cost_usd: 1.5, unpriced_calls: 0 });
});

test("a program that asks its model again and again is seen to be in trouble, until the model answers", async () => {
  const retry = { reason: "connection", in_ms: 500 };
  const answers = Promise.withResolvers<void>();
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    for (const attempt of [1, 2]) program.emit({ kind: "noted", text: `No answer, ${attempt} of 10.`, retry });
    await answers.promise;
    await writesAndPublishes(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ troubles }) => troublesOf(troubles).length > 0);
  expect(troublesOf(team.agent.now.troubles)).toEqual([
    expect.objectContaining({ worker_id: "clara", reason: "connection", message: "No answer, 2 of 10.", tries: 2 }),
  ]);
  answers.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.troubles).toEqual({});
});
