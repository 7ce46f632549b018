import { expect, test } from "vitest";
import type { ReplyEntry } from "../../src/protocol/index.ts";
import { call, script, startTeam, until } from "../../src/testing/index.ts";
import { type Play, type ScriptedPrograms, scriptedPrograms } from "../../src/testing/scripted-program.ts";

/** Programs that go on without end, in every way that costs them nothing. */
const begun = { kind: "begun", session_id: "s-1" } as const;
const done = { kind: "rested", how: "done", words: "" } as const;
const MB = 1024 ** 2;

function hiring(end: string) {
  return script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", deliverables: ["a.md"], worker: "Clara" }),
    call("finish", { summary: "done" }).after(end),
  );
}

async function afterTurns(turns: number, play: Play) {
  const outside: ScriptedPrograms = scriptedPrograms(play);
  const config = { contract: { max_iterations_per_node: turns } };
  const team = await startTeam({ goal: "g", coordinator: hiring("node-1 failed"), outside, config });
  await team.outcome();
  return { team, outcome: Object.values(team.agent.now.board.nodes).map((node) => "outcome" in node && node.outcome) };
}

test("one that never says what it used has as many replies as others have turns", async () => {
  const { team, outcome } = await afterTurns(5, async (program) => {
    program.emit(begun);
    for (let turn = 1; turn <= 100; turn++) {
      program.emit({ kind: "called", call_id: `c${turn}`, tool: "Bash", args: { command: "date" } });
      program.emit({ kind: "answered", call_id: `c${turn}`, ok: true, content: "now" }, done);
      await Promise.race([program.hear(), program.interruption()]);
      if (program.interrupted) await new Promise(() => {});
    }
  });
  await using _ = team;
  expect(outcome).toEqual([{ kind: "exhausted", turns: 5 }]);
});

test("one that talks without end is written down in parts, and ended when it has used its turns", async () => {
  const { team, outcome } = await afterTurns(5, async (program) => {
    program.emit(begun);
    for (let said = 0; said < 1000 && !program.interrupted; said++) {
      program.emit({ kind: "said", text: "all work and no play ".repeat(5000) });
      await program.followed();
    }
    await new Promise(() => {});
  });
  await using _ = team;
  expect(outcome).toEqual([{ kind: "exhausted", turns: 5 }]);
  const entries = await team.conversation("runs/run-1/workers/clara/conversation.jsonl");
  const replies = entries.filter((entry): entry is typeof entry & ReplyEntry => entry.role === "assistant");
  for (const reply of replies) expect(JSON.stringify(reply).length).toBeLessThan(2 * MB);
});

test("one that asks for permission without end is asked about so often and no more", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit(begun);
    for (let at = 0; at < 200; at++) void program.want("Bash", { command: `rm ${at}` }, `rm ${at}`);
    await program.followed();
    program.emit({ kind: "said", text: "All asked." }, { kind: "used", model: "m", usage: NONE, cost_usd: 0 });
    await new Promise(() => {});
  });
  outside.profile = { ...outside.profile, permissions: "ask" };
  await using team = await startTeam({ goal: "g", coordinator: hiring("node-1 failed"), outside });
  await until(team.agent, ({ spending }) => (spending.by_worker.clara?.calls ?? 0) > 0);
  const why = "20 of your requests wait for an answer. Ask again when they have theirs.";
  expect([team.agent.now.questions.asked, Object.values(outside.started[0]?.decisions ?? {})]).toEqual([
    20,
    Array(180).fill({ allow: false, why }),
  ]);
});

const NONE = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };

test("a call that a program requested and a crash cut off is not made again behind its back", async () => {
  const request = {
    kind: "requested_call",
    tool: "send_message",
    args: { to: "coordinator", content: "Hello" },
    id: "w1",
  } as const;
  const outside = scriptedPrograms(
    async (program) => {
      program.emit(begun);
      await new Promise(() => {});
    },
    async (program) => {
      program.emit(begun, request, { ...request, id: "w2", args: { to: "coordinator", content: "Bye" } });
      await program.followed();
      program.emit({ kind: "used", model: "m", usage: NONE, cost_usd: 0 });
      await new Promise(() => {});
    },
  );
  const before = await startTeam({ goal: "g", coordinator: hiring("node-1 failed"), outside });
  await until(before.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  const node = before.agent.now.board.nodes["node-1"];
  const assigned = node && "assigned_seq" in node ? node.assigned_seq : 0;
  // As a crash leaves it: the call is on disk, what became of it is not.
  const reply: ReplyEntry = {
    role: "assistant",
    content: [{ type: "call", id: `node-1-${assigned}-w1`, name: request.tool, args: request.args }],
    ...{ model: "m", usage: NONE, cost_usd: 0, finish: "tool-calls" },
  };
  const file = "runs/run-1/workers/clara/conversation.jsonl";
  await before.agent.log.append({ facts: [], entries: { file, entries: [reply] } }).durable;
  await using team = await before.restart();
  await team.agent.start("recovered");
  await until(team.agent, ({ spending }) => (spending.by_worker.clara?.calls ?? 0) > 0);
  const sent = (await team.facts()).flatMap((fact) => (fact.type === "message.sent" ? [fact.data.text] : []));
  expect(sent).toEqual(["Bye"]);
});
