import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { call, script, startTeam } from "../../src/testing/index.ts";
import { type Play, type ScriptedProgram, scriptedPrograms } from "../../src/testing/scripted-program.ts";
import type { ProgramLogin } from "../../src/workers/outside/session/program-ports.ts";

/* A login that cannot be used, before the work and in the middle of it. */

const begun = { kind: "begun", session_id: "s-1" } as const;
const ENDED = "The program scripted cannot work: its login has ended. Sign in again.";

const coordinator = () =>
  script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );

async function publish(program: ScriptedProgram): Promise<void> {
  await writeFile(`${program.setup.cwd}/a.md`, "a");
  await program.use("publish", { summary: "done" });
}

/** A login with a problem, until the person signs in. */
function loginWith(problem: string | null) {
  const signedIn = Promise.withResolvers<void>();
  let now = problem;
  let refusals = 0;
  const login: ProgramLogin = {
    problem: async () => now,
    refused: async () => {
      refusals += 1;
      return now;
    },
    changed: () => signedIn.promise,
  };
  const signIn = () => {
    now = null;
    signedIn.resolve();
  };
  return { login, signIn, refusals: () => refusals };
}

async function hired(login: ProgramLogin, ...plays: Play[]) {
  const outside = scriptedPrograms(...plays);
  outside.login = () => login;
  return { outside, team: await startTeam({ goal: "g", coordinator: coordinator(), outside }) };
}

test("SIGN-IN-1: before a program starts, its person is asked to sign in; then it works by itself, and no try is lost", async () => {
  const { login, signIn } = loginWith(ENDED);
  const { outside, team } = await hired(login, async (program) => {
    program.emit(begun);
    await publish(program);
  });
  await using _ = team;
  await team.until(({ questions }) => Object.keys(questions.open).length > 0);
  expect(Object.values(team.agent.now.questions.open)).toMatchObject([{ worker_id: "clara", text: ENDED }]);
  expect([team.agent.now.roster.clara?.status, outside.started]).toEqual(["waiting", []]);
  signIn();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.questions.open).toEqual({});
  const types = (await team.facts()).map(({ type }) => type);
  expect(types.filter((type) => type === "process.started" || type === "node.failed")).toEqual(["process.started"]);
});

test("SIGN-IN-2: a login that is refused in the middle of the work is renewed, and the same session goes on", async () => {
  const { login, refusals } = loginWith(null);
  const { outside, team } = await hired(login, async (program) => {
    program.emit(begun, { kind: "rested", how: "failed", words: "API Error: 401 Please run /login" });
    expect(await program.hear()).toContain("Your login was renewed");
    await publish(program);
  });
  await using _ = team;
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect([refusals(), outside.started.length, outside.started[0]?.said.length]).toEqual([1, 1, 1]);
});

const refused: Play = async (program) => {
  program.emit(begun);
  for (;;) {
    program.emit({ kind: "rested", how: "failed", words: "401 unauthorized" });
    await program.hear();
  }
};

test("SIGN-IN-2: one that goes on with its old login is ended, and its session goes on in another process", async () => {
  const { login, refusals } = loginWith(null);
  const { outside, team } = await hired(login, refused, async (program) => {
    program.emit(begun);
    await publish(program);
  });
  await using _ = team;
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(outside.started.map(({ setup, said }) => [setup.resume, said.length])).toEqual([
    [null, 1],
    ["s-1", 0],
  ]);
  expect([refusals(), outside.started[1]?.setup.words]).toEqual([2, expect.stringContaining("Your login was renewed")]);
  const types = (await team.facts()).map(({ type }) => type);
  expect(types.filter((type) => type === "node.retried" || type === "model.failed")).toEqual([]);
});

test("SIGN-IN-2: one that is refused again and again although it is said to be good fails the work", async () => {
  const { login } = loginWith(null);
  const { outside, team } = await hired(login, refused, refused, refused, refused);
  await using _ = team;
  await team.until(({ board }) => board.nodes["node-1"]?.status === "failed");
  // Two processes each time it is tried.
  expect(outside.started.map(({ said }) => said.length)).toEqual([1, 1, 1, 1]);
});
