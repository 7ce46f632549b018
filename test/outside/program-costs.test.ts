import { stat, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { NO_USAGE } from "../../src/protocol/index.ts";
import { call, say, script, startTeam } from "../../src/testing/index.ts";
import { type Play, type ScriptedProgram, scriptedPrograms } from "../../src/testing/scripted-program.ts";

/* What programs cost that say so at the end of a turn, or never. */

const begun = { kind: "begun", session_id: "s-1", model: "m" } as const;
const tokens = (input: number) => ({ ...NO_USAGE, input });
const about = (input: number, cost_usd: number) =>
  ({ kind: "used", model: "m", usage: tokens(input), cost_usd, estimated: true }) as const;

function hiring(end = "node-1 completed") {
  return script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", worker: "Clara" }),
    call("finish", { summary: "done" }).after(end),
  );
}

async function publish(program: ScriptedProgram): Promise<void> {
  await writeFile(`${program.setup.cwd}/a.md`, "a");
  await program.use("publish", { summary: "done" });
}

test("what a program says it has used when it is ended to publish is counted, before the work is over", async () => {
  const play: Play = async (program) => {
    program.onClose = async () => {
      program.emit({ kind: "used", model: "m", usage: tokens(500), cost_usd: 0.25 });
      program.emit({ kind: "rested", how: "cancelled", words: "" });
    };
    program.emit(begun);
    await publish(program);
  };
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside: scriptedPrograms(play) });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.spending.by_worker.clara).toMatchObject({ calls: 1, cost_usd: 0.25, usage: { input: 500 } });
  const types = (await team.facts()).map(({ type }) => type);
  expect(types.indexOf("model.responded", types.indexOf("process.started"))).toBeLessThan(
    types.indexOf("node.published"),
  );
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ spent_usd: 0.25 });
});

test("nothing is published before it is known what the turn that publishes has cost", async () => {
  const { promise: isPriced, resolve: price } = Promise.withResolvers<number>();
  const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>();
  const outside = scriptedPrograms(async (program) => {
    program.onClose = async () => program.emit({ kind: "used", model: "m", usage: tokens(500), cost_usd: null });
    program.emit(begun);
    await publish(program);
  });
  outside.price = () => {
    ask();
    return isPriced;
  };
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await isAsked;
  // As long as a publish takes that does not wait.
  const status = () => team.agent.now.board.nodes["node-1"]?.status;
  for (let looks = 0; looks < 500 && status() !== "completed"; looks++) await stat(team.agent.log.dir);
  expect(status()).not.toBe("completed");
  price(0.25);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", spent_usd: 0.25 });
});

test("an estimate counts as one until the program says what the turn took; then that is what counts", async () => {
  const estimated = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const play: Play = async (program) => {
    program.emit(begun, about(900, 0.5), about(1000, 0.5));
    await program.followed();
    estimated.resolve();
    await seen.promise;
    program.emit({ kind: "used", model: "m", usage: tokens(1500), cost_usd: 0.75, corrects: true });
    await program.followed();
    await publish(program);
  };
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside: scriptedPrograms(play) });
  await estimated.promise;
  const clara = () => team.agent.now.spending.by_worker.clara;
  await team.until(({ spending }) => spending.by_worker.clara?.calls === 2);
  expect(clara()).toMatchObject({ cost_usd: 1, usage: { input: 1900 }, estimated_calls: 2 });
  seen.resolve();
  await team.outcome();
  expect(clara()).toEqual({ ...clara(), calls: 2, cost_usd: 0.75, usage: tokens(1500), unpriced_calls: 0 });
  expect(team.agent.now.spending.total.estimated_calls).toBeUndefined();
});

test("a budget is kept by estimates: the program is stopped in the middle of its turn", async () => {
  const play: Play = async (program) => {
    program.emit(begun, about(1000, 0.6), about(1000, 0.6));
    await program.interruption();
    await new Promise(() => {});
  };
  const plan = { goal: "g", outside: scriptedPrograms(play), budget_usd: 1 };
  await using team = await startTeam({
    ...plan,
    coordinator: script(
      call("spawn_worker", { name: "Clara", program: "scripted" }),
      call("create_work_node", { task: "Write it down.", worker: "Clara" }),
      say("I wait."),
    ),
  });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toMatchObject({ kind: "budget_exhausted", spent_usd: 1.2 });
});

test.each([
  ["m", "No price is known for m: the budget is not kept for Clara."],
  ["unknown", "Clara does not say which model it uses: the budget is not kept for it."],
])("a budget that nobody can keep is said before the program works (%s)", async (model, words) => {
  const play: Play = async (program) => {
    program.emit({ ...begun, model });
    await publish(program);
  };
  const outside = scriptedPrograms(play);
  outside.price = async () => null;
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside, budget_usd: 1 });
  await team.outcome();
  const warned = (await team.facts()).flatMap((fact) => (fact.type === "model.warned" ? [fact.data.message] : []));
  expect(warned).toEqual([expect.stringContaining(words)]);
});
