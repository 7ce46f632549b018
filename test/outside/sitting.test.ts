import { expect, test } from "vitest";
import { call, script, startTeam } from "../../src/testing/index.ts";
import { type Play, type ScriptedProgram, scriptedPrograms } from "../../src/testing/scripted-program.ts";

/** A coordinator that hires one program for one node. */
function hiring(end = "node-1 completed") {
  return script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", deliverables: ["a.md"], worker: "Clara" }),
    call("finish", { summary: "done" }).after(end),
  );
}

async function write(program: ScriptedProgram, name = "a.md", text = "hello\n"): Promise<void> {
  const { writeFile } = await import("node:fs/promises");
  await writeFile(`${program.job.cwd}/${name}`, text);
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

test("a program is hired like anybody, works in its scratch folder and publishes by our door", async () => {
  const outside = scriptedPrograms(writesAndPublishes);
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const node = team.agent.now.board.nodes["node-1"];
  expect(node).toMatchObject({ status: "completed", worker_id: "clara", summary: "It is written." });
  expect(outside.started.map(({ job, isClosed }) => [job.words, job.resume, isClosed])).toEqual([
    ["Write it down.", null, true],
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

test("whoever ends its turn without publishing is reminded three times, then taken at its files", async () => {
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
