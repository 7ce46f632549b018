import { stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { NO_USAGE } from "../../src/protocol/index.ts";
import { both, call, manualClock, script, startTeam, type TeamPlan, until } from "../../src/testing/index.ts";
import { type Play, scriptedPrograms } from "../../src/testing/scripted-program.ts";
import type { ProgramStart } from "../../src/workers/outside/session/program-ports.ts";
import type { Decision } from "../../src/workers/outside/session/session.ts";

const begun = { kind: "begun", session_id: "s-1" } as const;
const done = { kind: "rested", how: "done", words: "" } as const;

function led(...plays: Play[]): TeamPlan & { outside: ReturnType<typeof scriptedPrograms> } {
  return { goal: "g", coordinator: script(), model: "claude-code/sonnet", outside: scriptedPrograms(...plays) };
}

const finishes: Play = async (program) => {
  program.emit(begun);
  await program.use("finish", { summary: "done", learned: "" });
};

test("a program that leads has the coordinator's tools, and none of ours for files and commands", async () => {
  const plan = led(finishes);
  await using team = await startTeam(plan);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(plan.outside.started[0]?.tools?.specs.map(({ name }) => name)).toEqual([
    ...["memory_write", "memory_read", "memory_search", "accept_insight"],
    ...["create_work_node", "send_message", "check_messages", "ask_human"],
    ...["spawn_worker", "assign_worker", "cancel_node", "update_node", "check_board", "reconvene", "launch_roles"],
    ...["finish", "schedule"],
  ]);
});

test("any program that can call tools leads, by its name, and its workers are the program that is named for them", async () => {
  const plan = led(
    async (program) => {
      program.emit(begun);
      await program.use("create_work_node", { task: "Write it down." });
      program.emit(done);
      expect(await program.hear()).toContain("node-1 completed");
      await program.use("finish", { summary: "done", learned: "" });
    },
    async (program) => {
      await writeFile(join(program.setup.cwd, "a.md"), "a");
      program.emit(begun);
      await program.use("publish", { summary: "It is written." });
    },
  );
  plan.outside.profile = { kind: "acp", command: ["scripted"] };
  await using team = await startTeam({ ...plan, model: "scripted", worker_model: "claude-code/small" });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const who = Object.values(team.agent.now.roster).map(({ spawned }) => [spawned.name, spawned.kind, spawned.model]);
  expect(who).toEqual([
    ["Coordinator", "acp", "scripted/default"],
    ["Alice", "acp", "claude-code/small"],
  ]);
  expect(plan.outside.started.map(({ setup }) => setup.model)).toEqual([null, "small"]);
});

test("a program that cannot call tools is refused as the lead, with what to do", async () => {
  const plan = led();
  plan.outside.profile = { kind: "autonomous", command: ["scripted"] };
  await expect(startTeam({ ...plan, model: "scripted" })).rejects.toThrow(
    "scripted cannot lead a team: it reads and writes files, and cannot call tools.",
  );
});

test("work is given to a program by its name: a worker is hired for it, and the next time it is the same one", async () => {
  const publishes: Play = async (program) => {
    await writeFile(join(program.setup.cwd, "a.md"), "a");
    program.emit(begun);
    await program.use("publish", { summary: "done" });
  };
  await using team = await startTeam({
    goal: "g",
    coordinator: script(
      both(
        call("create_work_node", { task: "One.", hold: true }),
        call("create_work_node", { task: "Two.", hold: true }),
      ),
      call("assign_worker", { node_id: "node-1", worker_id: "scripted" }),
      call("assign_worker", { node_id: "node-2", worker_id: "scripted" }).after("node-1 completed"),
      call("finish", { summary: "done" }).after("node-2 completed"),
    ),
    outside: scriptedPrograms(publishes, publishes),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.board().map((node) => ("worker_id" in node ? node.worker_id : null))).toEqual(["alice", "alice"]);
});

test("it works in a folder that it may write, the same in every run; the agent's own it may read", async () => {
  const plan = led(finishes, finishes);
  const stays: ProgramStart[] = [];
  const { start } = plan.outside;
  plan.outside.start = (stay) => {
    stays.push(stay);
    return start(stay);
  };
  await using team = await startTeam(plan);
  await team.outcome();
  await team.agent.send("And once more");
  await team.until(({ agent }) => agent.run?.id === "run-2" && agent.run.finished !== null);
  const folder = join(team.agent.log.dir, "scratch");
  expect(
    stays.map(({ cwd, binds }) => [cwd, binds.write.includes(folder), binds.read.includes(dirname(folder))]),
  ).toEqual([
    [folder, true, true],
    [folder, true, true],
  ]);
  expect((await stat(folder)).isDirectory()).toBe(true);
});

test("it is told the news as it comes, its human's words and what they answer, and is heard by them", async () => {
  const plan = led(async (program) => {
    program.emit(begun);
    expect(await program.hear()).toBe("[Message from your human]: How is it going?");
    program.emit({ kind: "said", text: "Well." }, { kind: "used", model: "m", usage: NO_USAGE, cost_usd: 0 });
    const asked = await program.use("ask_human", { question: "Blue or red?" });
    expect(asked).toMatchObject({ ok: true, content: expect.stringContaining("End your turn") });
    program.emit(done);
    expect(await program.hear()).toBe("You asked: Blue or red?\nYour human answers: blue");
    await program.use("create_work_node", { task: "Paint it.", deliverables: ["a.md"] });
    program.emit(done);
    expect(await program.hear()).toContain("node-1 completed");
    await program.use("finish", { summary: "It is blue.", learned: "" });
  });
  const ann = script(
    call("write_file", { path: "scratch/a.md", content: "blue" }),
    call("publish", { summary: "Painted." }),
  );
  await using team = await startTeam({ ...plan, workers: { Alice: ann } });
  await team.until(({ outside }) => outside.sessions.coordinator !== undefined);
  await team.agent.send("How is it going?");
  await team.until(({ questions }) => questions.asked === 1);
  await team.until(({ roster }) => roster.coordinator?.status === "waiting");
  await team.agent.respond("blue");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "It is blue." });
  expect(team.agent.now.thread.map(({ from, text }) => [from, text])).toContainEqual(["coordinator", "Well."]);
});

test("one that waits for all is spoken to once, when all it handed out is done, or when somebody writes", async () => {
  const waits = { wait: true, all: true };
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const plan = led(async (program) => {
    program.emit(begun);
    await program.use("create_work_node", { task: "One", deliverables: ["a.md"] });
    await program.use("create_work_node", { task: "Two", deliverables: ["a.md"] });
    expect(await program.use("check_messages", waits)).toMatchObject({ ok: true });
    program.emit(done);
    expect(await program.hear()).toContain("Message from Bob]: Which?");
    await program.use("send_message", { to: "Bob", content: "The second." });
    await program.use("create_work_node", { task: "Three", deliverables: ["a.md"] });
    await program.use("check_messages", waits);
    program.emit(done);
    expect(await program.hear()).toMatch(/node-2 completed.*node-3 completed/s);
    await program.use("finish", { summary: "both", learned: "" });
  });
  const written = both(
    call("write_file", { path: "scratch/a.md", content: "a" }),
    call("publish", { summary: "Done." }),
  );
  const asks = call("send_message", { to: "coordinator", content: "Which?" }).until(first.promise);
  const workers = {
    Alice: script(written, written.until(second.promise)),
    Bob: script(asks, written.after("The second.")),
  };
  await using team = await startTeam({ ...plan, workers });
  team.agent.log.subscribe((fact) => {
    if (fact.type !== "node.completed") return;
    (fact.data.node_id === "node-1" ? first : second).resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  expect(plan.outside.started[0]?.said[0]).toContain("node-1 completed");
  expect(plan.outside.started[0]?.said).toHaveLength(2);
});

test("stopped it is ended at once; resumed, and in the next run, its session goes on", async () => {
  const plan = led(
    async (program) => {
      program.emit(begun);
      await program.hear();
    },
    finishes,
    finishes,
  );
  await using team = await startTeam(plan);
  await team.until(({ outside }) => outside.sessions.coordinator !== undefined);
  await team.agent.stop("human");
  expect(team.agent.now.roster.coordinator?.status).toBe("stopped");
  await team.agent.start("resumed");
  await team.outcome();
  await team.agent.send("Now another one.");
  await team.agent.idle();
  const heard = plan.outside.started.map(({ setup, isClosed }) => [setup.resume, setup.words.split("\n")[0], isClosed]);
  expect(heard).toEqual([
    [null, "g", true],
    ["s-1", "You were interrupted and are now taken up again. Your files are as you left them.", true],
    ["s-1", "Now another one.", true],
  ]);
  expect(team.agent.now.agent.run).toMatchObject({ id: "run-2", finished: { kind: "finished", summary: "done" } });
});

test("one that dies in the middle is restarted twice in a row, with how things stand if its session is lost", async () => {
  const dies: Play = async (program) => {
    program.emit(begun, { kind: "called", call_id: "c1", tool: "Bash", args: { command: "sleep 9" } });
    await program.followed();
  };
  const lost: Play = async (program) => program.emit({ kind: "lost", why: "no such session" });
  const plan = led(dies, dies, lost, finishes);
  await using team = await startTeam(plan);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(plan.outside.started.map(({ setup }) => setup.resume)).toEqual([null, "s-1", "s-1", null]);
  expect(plan.outside.started[3]?.setup.words).toContain("## Your goal (run-1)\n\ng");
  const entries = await team.conversation();
  expect(entries.filter((entry) => entry.role === "tool" && entry.tool === "Bash")).toMatchObject([
    { ok: false, content: "Outcome unknown: the program was ended while this ran." },
    { ok: false, content: "Outcome unknown: the program was ended while this ran." },
  ]);
});

test("permission that an earlier process asked for decides nothing in this one", async () => {
  const isAsked = Promise.withResolvers<void>();
  const decisions: Decision[] = [];
  const dies: Play = async (program) => {
    program.emit(begun);
    void program.want("Bash", { command: "ls" }, "ls");
    await isAsked.promise;
  };
  const goesOn: Play = async (program) => {
    program.emit(begun);
    decisions.push(await program.want("Bash", { command: "rm" }, "rm"));
    await program.use("finish", { summary: "done", learned: "" });
  };
  const plan = led(dies, goesOn);
  plan.outside.profile = { ...plan.outside.profile, permissions: "ask" };
  await using team = await startTeam(plan);
  await until(team.agent, ({ questions }) => questions.open["question-1"] !== undefined);
  isAsked.resolve();
  await until(team.agent, ({ questions }) => questions.open["question-2"] !== undefined);
  await team.agent.respond("always allow exactly this command", "question-1");
  await until(team.agent, ({ outside }) => outside.permitted.coordinator !== undefined);
  await team.agent.respond("deny", "question-2");
  await team.outcome();
  expect(decisions).toMatchObject([{ allow: false }]);
  const stood = (await team.facts()).map(({ type }) => type).filter((type) => /^worker\.(waiting|busy)$/.test(type));
  expect(stood.join(" ")).toBe("worker.busy worker.waiting worker.busy worker.waiting worker.busy");
});

test("one that hangs is restarted, and the record says why", async () => {
  const clock = manualClock();
  const hangs: Play = async (program) => {
    program.emit(begun);
    await new Promise(() => {});
  };
  const dies: Play = async (program) => {
    program.emit(begun);
    await program.followed();
    throw new Error("no disk");
  };
  const plan = led(hangs, dies, dies);
  await using team = await startTeam({ ...plan, clock });
  await until(team.agent, ({ outside }) => outside.sessions.coordinator !== undefined);
  await expect.poll(() => clock.due).toContain(clock.now() + 900_000);
  await clock.advance(900_000);
  // What we say about it is not what it said.
  const error = "The program ended (exit code 70) without finishing. It said: no disk\nno disk";
  expect(await team.outcome()).toEqual({ kind: "failed", error });
  const types = ["process.started", "process.exited", "model.warned"];
  const facts = (await team.facts()).filter(({ type }) => types.includes(type)).slice(0, 4);
  expect(facts).toMatchObject([
    { type: "process.started" },
    { type: "process.exited" },
    { type: "model.warned", data: { message: "It gave no sign of life for 900 s. It is being restarted." } },
    { type: "process.started" },
  ]);
});

test("one that dies again and again ends the run, with the reason", async () => {
  const dies: Play = async (program) => {
    program.emit(begun);
    await program.followed();
    throw new Error("no disk");
  };
  const plan = led(dies, dies, dies);
  await using team = await startTeam(plan);
  const error = "The program ended (exit code 70) without finishing. It said: no disk\nno disk\nno disk";
  expect(await team.outcome()).toEqual({ kind: "failed", error });
});

test("what it spends counts, and ends the run when the money has", async () => {
  const plan = led(async (program) => {
    program.emit(begun, { kind: "used", model: "m", usage: NO_USAGE, cost_usd: 2 });
    await program.interruption();
  });
  await using team = await startTeam({ ...plan, budget_usd: 1 });
  expect(await team.outcome()).toEqual({ kind: "budget_exhausted", spent_usd: 2 });
});

test("an infinite agent sleeps when its turn is over, and is woken for the next cycle", async () => {
  const clock = manualClock();
  const plan = led(async (program) => {
    program.emit(begun);
    const slept = await program.use("checkpoint", { summary: "One cycle." });
    expect(slept.content).toContain("End your turn now");
    program.emit(done);
    expect(await program.hear()).toContain("The next cycle begins.");
    await program.use("finish", { summary: "enough", learned: "" });
  });
  await using team = await startTeam({ ...plan, clock, mode: "infinite", cycle_seconds: 60 });
  await team.until(({ roster }) => roster.coordinator?.status === "waiting");
  await clock.advance(61_000);
  await team.until(({ agent }) => agent.run?.finished !== null);
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "enough" });
});
