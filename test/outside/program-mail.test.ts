import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { call, script, startTeam, until } from "../../src/testing/index.ts";
import { type Play, scriptedPrograms } from "../../src/testing/scripted-program.ts";

/* Words to a program that hears nothing before its turn is over: Gemini, opencode. */

const begun = { kind: "begun", session_id: "s-1" } as const;

function hiring() {
  return script(
    call("spawn_worker", { name: "Clara", program: "scripted" }),
    call("create_work_node", { task: "Write it down.", worker: "Clara" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
}

/** Starts a program that plays this, and says something to it as soon as it works; it goes on when that is sent. */
async function spokenTo(play: (...rest: Parameters<Play>) => Promise<string[]>, isDeaf = true) {
  const isSent = Promise.withResolvers<void>();
  const results: string[] = [];
  const outside = scriptedPrograms(async (program) => {
    program.isDeaf = isDeaf;
    await writeFile(`${program.setup.cwd}/a.md`, "a");
    program.emit(begun);
    await isSent.promise;
    results.push(...(await play(program)));
    await program.use("publish", { summary: "done" });
  });
  await using team = await startTeam({ goal: "g", coordinator: hiring(), outside });
  await until(team.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  await team.agent.send("Paint it red.", "Clara");
  isSent.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const facts = (await team.facts()).filter(({ type }) => /^(message\.received|tool\.called)$/.test(type));
  const order = facts.flatMap((fact) => {
    if (fact.type === "tool.called") return fact.data.worker_id === "clara" ? [fact.data.tool] : [];
    return fact.type === "message.received" && fact.data.by === "clara" ? ["received"] : [];
  });
  return { results, order, said: outside.started.flatMap(({ said }) => said) };
}

const HELD = "Not done: something was said to you while you worked. Act on it, then call publish again.";
const MESSAGE = "[Message from your human]: Paint it red.";

test("what is said to it comes with the next result of one of our tools, and is received then", async () => {
  const { results, order, said } = await spokenTo(async (program) => [
    (await program.use("check_messages", {})).content,
  ]);
  expect(results).toEqual([MESSAGE]);
  expect([order, said]).toEqual([["check_messages", "received", "publish"], []]);
});

test("a publish is held until it was told what was said to it, and the next one is made", async () => {
  const { results, order } = await spokenTo(async (program) => {
    const { ok, content } = await program.use("publish", { summary: "too early" });
    return [String(ok), content];
  });
  expect(results).toEqual(["false", `${HELD}\n\n${MESSAGE}`]);
  expect(order).toEqual(["publish", "received", "publish"]);
});

test("what it was not told in its turn is said when the turn is over", async () => {
  const { results } = await spokenTo(async (program) => {
    program.emit({ kind: "rested", how: "done", words: "" });
    return [await program.hear()];
  });
  expect(results).toEqual([MESSAGE]);
});

test("what was said into its turn, and it cannot have read, holds its publish once", async () => {
  const { results } = await spokenTo(async (program) => {
    const { content } = await program.use("check_messages", {});
    await program.hear();
    program.unread = { words: [] };
    return [content, (await program.use("publish", { summary: "too early" })).content];
  }, false);
  expect(results).toEqual(["There is nothing new: whatever comes is said to you at once.", HELD]);
});

test("what would be said after its turn only is told when its publish is held", async () => {
  const { results } = await spokenTo(async (program) => {
    await program.hear();
    program.unread = { words: [MESSAGE] };
    return [(await program.use("publish", { summary: "too early" })).content];
  }, false);
  expect(results).toEqual([`${HELD}\n\n${MESSAGE}`]);
});
