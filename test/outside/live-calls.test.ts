import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { call, script, startTeam } from "../../src/testing/index.ts";
import { type ScriptedProgram, scriptedPrograms } from "../../src/testing/scripted-program.ts";

/* A program's own calls, as they run. */

const begun = { kind: "begun", session_id: "s-1" } as const;

function hiring() {
  return script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
}

async function publish(program: ScriptedProgram): Promise<void> {
  await writeFile(`${program.setup.cwd}/a.md`, "a");
  await program.use("publish", { summary: "done" });
}

const running = (call_id: string, command: string) =>
  ({ kind: "called", call_id, tool: "shell", args: { command }, isBegun: true }) as const;

test("a call that runs is on record before it has a result", async () => {
  const onRecord = Promise.withResolvers<void>();
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun, { kind: "said", text: "I begin." }, running("c1", "make all"));
    await onRecord.promise;
    program.emit({ kind: "answered", call_id: "c1", ok: true, content: "made" });
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "tool.called" && fact.data.call_id === "c1") onRecord.resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const entries = await team.conversation("runs/run-1/workers/clara/conversation.jsonl");
  expect(entries.slice(2, 4)).toMatchObject([
    { role: "assistant", content: [{ text: "I begin." }, { type: "call", id: "c1", args: { command: "make all" } }] },
    { role: "tool", call_id: "c1", ok: true, content: "made" },
  ]);
});

test("calls that begin together are one turn, however many there are", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun, ...Array.from({ length: 20 }, (_, at) => running(`c${at}`, "true")));
    for (let at = 0; at < 20; at++) program.emit({ kind: "answered", call_id: `c${at}`, ok: true, content: "" });
    await publish(program);
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside, config: { max_turns: 5 } });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("who is interrupted while a call runs is told of it, so that it is not made again without a look", async () => {
  const outside = scriptedPrograms(
    async (program) => {
      program.emit(begun, running("c1", "make all"));
      await program.followed();
    },
    async (program) => {
      program.emit(begun);
      await publish(program);
    },
  );
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(outside.started[1]?.setup.words).toContain(
    'You were interrupted while this ran: shell {"command":"make all"}. Nobody knows how far it came: look at what it has done before you do it again.',
  );
});
