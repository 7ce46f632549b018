import { expect, test } from "vitest";
import type { Model } from "../../src/models/model.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { call, type ScriptedModel, say, script, until } from "../../src/testing/index.ts";
import { scriptedCatalog } from "../../src/testing/start-team.ts";
import { temporaryHome } from "../../src/testing/temporary-home.ts";

/** Models by their id; what is not among them cannot be used. */
async function houseOf(models: Record<string, Model>) {
  const home = await temporaryHome();
  const find = (id: string): Model => {
    const model = models[id];
    if (!model) throw new Error(`There is no model ${id}.`);
    return { ...model, id, reply: (request, signal) => model.reply(request, signal) };
  };
  const catalog = {
    ...scriptedCatalog({ coordinator: script() }),
    model: async (id: string) => find(id),
    resolve: (id: string) => ({ id: find(id).id, contextWindow: 200_000, searchesWeb: false, note: null }),
  };
  const runtime = await openRuntime({ home: home.path, env: {}, config: {} }, { catalog });
  return {
    runtime,
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await home.remove();
    },
  };
}

const gone: ScriptedModel = script(call("ask_human", { question: "Go on?" }));

test("an agent that was stopped goes on with another model, and so do its workers", async () => {
  const next = script(call("finish", { summary: "Done by the other." }).after("Yes."));
  await using house = await houseOf({ "old/one": gone, "new/two": next });
  const agent = await house.runtime.create({ goal: "g", model: "old/one" });
  await until(agent, ({ questions }) => questions.asked === 1);
  await agent.stop("human");
  expect(await agent.changeModels({ model: "new/two" })).toBe("g continues with new/two, no longer with old/one.");
  expect(agent.now.agent.created).toMatchObject({ model: "new/two", worker_model: "new/two" });
  expect(agent.now.roster.coordinator?.spawned.model).toBe("new/two");
  expect(agent.isWorking).toBe(false);
  await agent.respond("Yes.");
  await agent.idle();
  expect(agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Done by the other." });
  const facts = await agent.log.read({ after: 0, limit: 1000 });
  expect(facts.filter(({ type }) => type === "model.set")).toMatchObject([
    { data: { model: "new/two", worker_model: "new/two", was: { model: "old/one", worker_model: "old/one" } } },
  ]);
});

test("one that is at work goes on with it at once, and whoever waits for its end waits on", async () => {
  const asks = script(call("ask_human", { question: "Go on?" }));
  const next = script(call("finish", { summary: "Done by the other." }).after("Yes."));
  await using house = await houseOf({ "old/one": asks, "new/two": next });
  const agent = await house.runtime.create({ goal: "g", model: "old/one" });
  await until(agent, ({ questions }) => questions.asked === 1);
  const idle = agent.idle();
  await agent.changeModels({ model: "new/two" });
  expect(agent.isWorking).toBe(true);
  expect(agent.now.agent.status).toBe("waiting_for_human");
  await agent.respond("Yes.");
  await idle;
  expect(agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Done by the other." });
});

test("a model that cannot be used is refused, and nothing changes; a worker's own model stays", async () => {
  const lead = script(
    call("spawn_worker", { name: "Ann", model: "own/three" }),
    call("spawn_worker", { name: "Ben" }),
    say("I wait."),
    call("ask_human", { question: "Go on?" }),
  );
  await using house = await houseOf({ "old/one": lead, "new/two": script(), "own/three": script() });
  const agent = await house.runtime.create({ goal: "g", model: "old/one" });
  await until(agent, ({ roster }) => roster.ben !== undefined);
  await agent.stop("human");
  await expect(agent.changeModels({ model: "no/such" })).rejects.toThrow("There is no model no/such.");
  await expect(agent.changeModels({ model: "claude-code/sonnet" })).rejects.toThrow(
    "claude-code/sonnet is a program, and g can only go from one model to another.",
  );
  expect(agent.now.agent.created.model).toBe("old/one");
  expect(await agent.changeModels({ model: "old/one" })).toBe("g already uses these models.");
  await agent.changeModels({ model: "new/two" });
  expect(Object.values(agent.now.roster).map(({ id, spawned }) => [id, spawned.model])).toEqual([
    ["coordinator", "new/two"],
    ["ann", "own/three"],
    ["ben", "new/two"],
  ]);
});
