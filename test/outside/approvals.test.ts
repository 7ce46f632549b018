import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { call, script, startTeam, type TestTeam, until } from "../../src/testing/index.ts";
import { type Play, type ScriptedProgram, scriptedPrograms } from "../../src/testing/scripted-program.ts";
import type { Decision } from "../../src/workers/outside/session/session.ts";

const begun = { kind: "begun", session_id: "s-1" } as const;
const TEST = ["Bash", { command: "npm test" }, "Run the tests"] as const;

const PERMITTED = { tool: "Bash", what: "always allow exactly this command: npm test" };

async function publish(program: ScriptedProgram): Promise<void> {
  await writeFile(`${program.setup.cwd}/a.md`, "a");
  await program.use("publish", { summary: "done" });
}

function hiring() {
  return script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
}

function asking(permissions: ProgramProfile["permissions"], ...plays: Play[]) {
  const outside = scriptedPrograms(...plays);
  if (permissions) outside.profile = { ...outside.profile, permissions };
  return outside;
}

async function answered(team: TestTeam, ...answers: string[]): Promise<void> {
  for (const [at, answer] of answers.entries()) {
    const id = `question-${at + 1}`;
    await until(team.agent, ({ questions }) => questions.open[id] !== undefined);
    await team.agent.respond(answer, id);
  }
}

/** Asks for the same permission as often as said, and uses it each time. */
function wanting(times: number, decisions: Decision[]): Play {
  return async (program) => {
    program.emit(begun);
    for (let time = 1; time <= times; time++) {
      const decision = await program.want(...TEST);
      decisions.push(decision);
      program.emit({ kind: "answered", call_id: `want-${time}`, ok: decision.allow, content: "" });
      await program.followed();
    }
    await publish(program);
  };
}

test("who asks for two things at once waits until both are answered", async () => {
  const outside = asking("ask", async (program) => {
    program.emit(begun);
    const one = program.want("Bash", { command: "a" }, "a");
    const two = program.want("Bash", { command: "b" }, "b");
    await Promise.all([one, two]);
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ questions }) => questions.open["question-2"] !== undefined);
  await answered(team, "1", "1");
  await team.outcome();
  const told = (await team.facts()).flatMap(({ type, data }) =>
    /^(human\.question|human\.response|worker\.busy)$/.test(type) && Reflect.get(data, "worker_id") === "clara"
      ? [type]
      : [],
  );
  expect(told.slice(1)).toEqual([
    ...["human.question", "human.question", "human.response", "human.response", "worker.busy"],
  ]);
});

test("a person is asked each time, by the tool and what it is for", async () => {
  const decisions: Decision[] = [];
  const outside = asking("ask", wanting(3, decisions));
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ questions }) => questions.open["question-1"] !== undefined);
  expect(team.agent.now.questions.open["question-1"]).toMatchObject({
    text: "Clara asks for permission to run a command (tool: Bash).\nCommand:\n│ npm test\nIts own description, not checked: “Run the tests”",
    choices: ["allow once", "always allow exactly this command", "deny"],
  });
  expect(team.agent.now.roster.clara).toMatchObject({ status: "waiting", for: "human" });
  await answered(team, "1", "3", "No, only after lunch.");
  await team.outcome();
  expect(decisions).toEqual([
    { allow: true },
    { allow: false, why: "Your human does not allow it." },
    { allow: false, why: "Your human answers: No, only after lunch." },
  ]);
});

test("words that are none of the choices decide nothing: the choices are told, and the question stays open", async () => {
  const decisions: Decision[] = [];
  await using team = await startTeam({
    goal: "g",
    coordinator: hiring(),
    outside: asking("ask", wanting(1, decisions)),
  });
  await until(team.agent, ({ questions }) => questions.open["question-1"] !== undefined);
  const refusal =
    "question-1 can only be answered with one of its choices: 1 allow once, 2 always allow exactly this command, 3 deny. It is still open.";
  for (const words of ["maybe", "4", "no problem", "allow everything", "toString"])
    await expect(team.agent.respond(words, "question-1")).rejects.toMatchObject({
      name: "HumanRefusal",
      code: "conflict",
      message: refusal,
    });
  expect([decisions, Object.keys(team.agent.now.questions.open)]).toEqual([[], ["question-1"]]);
  await team.agent.respond("allow once", "question-1");
  await team.outcome();
  expect(decisions).toEqual([{ allow: true }]);
});

test("a choice is meant by its number, by its words or by what clearly means it", async () => {
  const decisions: Decision[] = [];
  const said = ["Yes.", "allow", "ALLOW ONCE", "no", "Deny!", "always"];
  const outside = asking("ask", wanting(said.length, decisions));
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await answered(team, ...said);
  await team.outcome();
  const denied = { allow: false, why: "Your human does not allow it." };
  expect(decisions).toEqual([{ allow: true }, { allow: true }, { allow: true }, denied, denied, { allow: true }]);
  expect(team.agent.now.outside.permitted).toMatchObject({ clara: [PERMITTED] });
});

test("who says always is not asked again", async () => {
  const decisions: Decision[] = [];
  const outside = asking("ask", wanting(2, decisions));
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await answered(team, "always allow exactly this command");
  await team.outcome();
  expect([decisions, team.agent.now.questions.asked]).toEqual([[{ allow: true }, { allow: true }], 1]);
  expect(team.agent.now.outside.permitted).toMatchObject({ clara: [PERMITTED] });
});

test.for([
  ["allow", { allow: true }],
  [undefined, { allow: true }],
  ["deny", { allow: false, why: "This is not allowed here. Do without it." }],
] as const)("the profile says %s, and nobody is asked", async ([permissions, decision]) => {
  const decisions: Decision[] = [];
  await using team = await startTeam({
    goal: "g",
    coordinator: hiring(),
    outside: asking(permissions, wanting(1, decisions)),
  });
  await team.outcome();
  expect([decisions, team.agent.now.questions.asked]).toEqual([[decision], 0]);
});

test("without a sandbox a person is asked, where the profile says nothing", async () => {
  const decisions: Decision[] = [];
  const outside = asking(undefined, wanting(1, decisions));
  const { start } = outside;
  outside.start = async (stay) => ({ ...(await start(stay)), sandbox: "unsafe" });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await answered(team, "deny");
  await team.outcome();
  expect(decisions).toEqual([{ allow: false, why: "Your human does not allow it." }]);
});

test("after a restart the same request finds its question, and the answer that came to it", async () => {
  const decisions: Decision[] = [];
  const first: Play = async (program) => {
    program.emit(begun);
    await program.want(...TEST);
  };
  const outside = asking("ask", first, wanting(1, decisions));
  const before = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(before.agent, ({ questions }) => questions.open["question-1"] !== undefined);
  await using team = await before.restart();
  await team.agent.start("recovered");
  await until(team.agent, ({ roster }) => roster.clara?.status === "waiting");
  await team.agent.respond("allow once", "question-1");
  await team.outcome();
  expect([outside.started[1]?.setup.resume, decisions, team.agent.now.questions.asked]).toEqual([
    "s-1",
    [{ allow: true }],
    1,
  ]);
});

test("an answer that was given and not used before a restart is used after it", async () => {
  const decisions: Decision[] = [];
  const first: Play = async (program) => {
    program.emit(begun);
    decisions.push(await program.want(...TEST));
    await new Promise(() => {});
  };
  const outside = asking("ask", first, wanting(1, decisions));
  const before = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await answered(before, "allow once");
  await until(before.agent, ({ roster }) => roster.clara?.status === "busy");
  await using team = await before.restart();
  await team.agent.start("recovered");
  await team.outcome();
  expect([decisions, team.agent.now.questions.asked]).toEqual([[{ allow: true }, { allow: true }], 1]);
});

test("an answer to what it asked is said once, also when it comes over a restart", async () => {
  const outside = scriptedPrograms(
    async (program) => {
      program.emit(begun);
      await program.use("ask_human", { question: "Which colour?" });
      program.emit({ kind: "rested", how: "done", words: "" });
      await new Promise(() => {});
    },
    async (program) => {
      program.emit(begun);
      program.emit({ kind: "rested", how: "done", words: "" });
      expect(await program.hear()).toBe("You asked: Which colour?\nYour human answers: red");
      await publish(program);
    },
  );
  const before = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(before.agent, ({ roster }) => roster.clara?.status === "waiting");
  await using team = await before.restart();
  await team.agent.start("recovered");
  await until(team.agent, ({ roster }) => roster.clara?.status === "waiting");
  await team.agent.respond("red");
  await team.outcome();
  expect(team.agent.now.questions).toMatchObject({ asked: 1, open: {}, answered: {} });
});

test("always is for exactly that command: one that only begins like it, under the same title, is asked about", async () => {
  const decisions: Decision[] = [];
  const outside = asking("ask", async (program) => {
    program.emit(begun);
    for (const command of ["ls", "ls", "ls; rm -rf ~"]) decisions.push(await program.want("Bash", { command }, "ls"));
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await answered(team, "always", "deny");
  await team.outcome();
  expect([decisions.map(({ allow }) => allow), team.agent.now.questions.asked]).toEqual([[true, true, false], 2]);
});

test("a yes is used once: the same request again, before the call has its result, is another question", async () => {
  const decisions: Decision[] = [];
  const outside = asking("ask", async (program) => {
    program.emit(begun);
    decisions.push(...(await Promise.all([program.want(...TEST), program.want(...TEST)])));
    decisions.push(await program.want(...TEST));
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await answered(team, "allow once", "deny", "deny");
  await team.outcome();
  expect(decisions.map(({ allow }) => allow)).toEqual([true, false, false]);
});

test("what was always allowed is listed, and asked about again once it is revoked", async () => {
  const decisions: Decision[] = [];
  const isRevoked = Promise.withResolvers<void>();
  const outside = asking("ask", async (program) => {
    program.emit(begun);
    decisions.push(await program.want(...TEST));
    await isRevoked.promise;
    decisions.push(await program.want(...TEST));
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await answered(team, "always");
  await until(team.agent, (now) => now.outside.permitted.clara !== undefined);
  const [permission] = team.agent.now.outside.permitted.clara ?? [];
  expect(permission).toMatchObject(PERMITTED);
  await expect(team.agent.revoke("constructor")).rejects.toThrow('has no permission "constructor"');
  await team.agent.revoke(permission?.key.slice(0, 8) ?? "");
  expect(team.agent.now.outside.permitted).toEqual({});
  isRevoked.resolve();
  await until(team.agent, ({ questions }) => questions.open["question-2"] !== undefined);
  await team.agent.respond("deny", "question-2");
  await team.outcome();
  expect(decisions.map(({ allow }) => allow)).toEqual([true, false]);
});

test("permission is given to the question that is named: neither a message nor an answer without an id gives it", async () => {
  const decisions: Decision[] = [];
  await using team = await startTeam({
    goal: "g",
    coordinator: hiring(),
    outside: asking("ask", wanting(1, decisions)),
  });
  await until(team.agent, ({ questions }) => questions.open["question-1"] !== undefined);
  await expect(team.agent.respond("yes")).rejects.toThrow("Answer it by its id: --question question-1");
  expect(await team.agent.send("yes", "Clara")).toContain("This does not answer question-1");
  expect([decisions, Object.keys(team.agent.now.questions.open)]).toEqual([[], ["question-1"]]);
  await team.agent.respond("no", "question-1");
  await team.outcome();
  expect(decisions).toMatchObject([{ allow: false }]);
});

test("a question of a model in the words of a permission request is not one", async () => {
  const outside = asking("ask", async (program) => {
    program.emit(begun);
    const choices = ["allow once", "always allow exactly this command", "deny"];
    await program.use("ask_human", { question: "Clara asks for permission to run a command.\n│ ls", choices });
    program.emit({ kind: "rested", how: "done", words: "" });
    await program.hear();
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ questions }) => questions.open["question-1"] !== undefined);
  expect(team.agent.now.questions.open["question-1"]?.permission).toBeUndefined();
  await team.agent.respond("always allow exactly this command", "question-1");
  await team.outcome();
  expect(team.agent.now.outside.permitted).toEqual({});
});

test("of a flood of requests twenty wait for the person, and the others are denied at once", async () => {
  const decisions: Decision[] = [];
  const outside = asking("ask", async (program) => {
    program.emit(begun);
    const all = Array.from({ length: 1000 }, (_, at) => program.want("Bash", { command: `echo ${at}` }));
    decisions.push(...(await Promise.all(all.slice(20))));
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await team.outcome();
  expect([decisions.filter(({ allow }) => allow).length, team.agent.now.questions.asked]).toEqual([0, 20]);
});
