import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { call, manualClock, script, startTeam } from "../../src/testing/index.ts";
import { type Play, type ScriptedProgram, scriptedPrograms } from "../../src/testing/scripted-program.ts";

/** A program that waits over night holds its memory for nothing: it is ended, and resumed when it is spoken to. */
const begun = { kind: "begun", session_id: "s-1" } as const;
const done = { kind: "rested", how: "done", words: "" } as const;
const QUARTER = 15 * 60_000;

const asks: Play = async (program) => {
  program.emit(begun);
  await program.use("ask_human", { question: "Which colour?" });
  program.emit(done);
  await new Promise(() => {});
};

async function publishes(program: ScriptedProgram): Promise<void> {
  await writeFile(`${program.setup.cwd}/a.md`, "red\n");
  await program.use("publish", { summary: "Red." });
}

async function hired(plays: Play[], profile: Partial<ProgramProfile> = {}) {
  const clock = manualClock();
  const outside = scriptedPrograms(...plays);
  Object.assign(outside.profile, profile);
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Paint it.", deliverables: ["a.md"], worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
  const team = await startTeam({ goal: "g", coordinator, outside, clock });
  await team.until(({ roster }) => roster.clara?.status === "waiting");
  return { team, clock, outside, [Symbol.asyncDispose]: () => team[Symbol.asyncDispose]() };
}

async function exits(team: Awaited<ReturnType<typeof startTeam>>) {
  const facts = await team.facts();
  return facts.flatMap((fact) => (fact.type === "process.exited" ? [fact.data.rested ?? false] : []));
}

test("a program that has waited for a quarter of an hour is ended, and the answer resumes its session", async () => {
  const comesBack: Play = async (program) => {
    program.emit(begun);
    await publishes(program);
  };
  await using house = await hired([asks, comesBack]);
  const { team, clock, outside } = house;
  await clock.advance(QUARTER - 1);
  expect(outside.started[0]?.isClosed).toBe(false);
  await clock.advance(1);
  expect(outside.started[0]?.isClosed).toBe(true);
  await clock.advance(8 * 60 * 60_000);
  expect(await exits(team)).toEqual([true]);
  expect(team.agent.now.roster.clara).toMatchObject({ status: "waiting", for: "human" });
  await team.agent.respond("red", "question-1");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(outside.started.map(({ setup }) => [setup.resume, setup.words])).toEqual([
    [null, expect.stringContaining("Paint it.")],
    ["s-1", "You asked: Which colour?\nYour human answers: red"],
  ]);
  expect(await exits(team)).toEqual([true, false]);
});

test("a program that dies as it is resumed is resumed again, with what it may not have heard", async () => {
  const dies: Play = async () => {};
  const comesBack: Play = async (program) => {
    program.emit(begun);
    await publishes(program);
  };
  await using house = await hired([asks, dies, comesBack]);
  const { team, clock, outside } = house;
  await clock.advance(QUARTER);
  await team.agent.respond("red", "question-1");
  await team.outcome();
  expect(outside.started.map(({ setup }) => setup.resume)).toEqual([null, "s-1", "s-1"]);
  expect(outside.started[2]?.setup.words).toContain("Your human answers: red");
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "Red." });
});

test("a program whose session cannot be resumed, or that is to stay, rests for as long as it takes", async () => {
  const rests: Play = async (program) => {
    program.emit(begun);
    await program.use("ask_human", { question: "Which colour?" });
    program.emit(done);
    await program.hear();
    await publishes(program);
  };
  const forgets: Play = async (program) => {
    program.keepsSession = false;
    await rests(program);
  };
  for (const [play, profile] of [
    [forgets, {}],
    [rests, { rest_seconds: 0 }],
    [rests, { rest_seconds: 3600 * 12 }],
  ] as const) {
    await using house = await hired([play], profile);
    await house.clock.advance(10 * 60 * 60_000);
    expect(house.outside.started[0]?.isClosed).toBe(false);
    await house.team.agent.respond("red", "question-1");
    expect(await house.team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(house.outside.started).toHaveLength(1);
  }
});

test("what it does while it rests begins its rest anew", async () => {
  const notes: Play = async (program) => {
    program.emit(begun);
    await program.use("ask_human", { question: "Which colour?" });
    program.emit(done);
    await new Promise(() => {});
  };
  await using house = await hired([notes, asks]);
  const { clock, outside } = house;
  await clock.advance(QUARTER - 60_000);
  outside.started[0]?.emit({ kind: "noted", text: "Something in the background." });
  await outside.started[0]?.followed();
  await clock.advance(QUARTER - 60_000);
  expect(outside.started[0]?.isClosed).toBe(false);
  await clock.advance(60_000);
  expect(outside.started[0]?.isClosed).toBe(true);
});
