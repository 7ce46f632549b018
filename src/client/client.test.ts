import { expect, test } from "vitest";
import type { Agent } from "../runtime/agent.ts";
import { call, say, script } from "../testing/index.ts";
import { startServer, TOKEN } from "../testing/start-server.ts";
import { ApiClient, ApiError } from "./client.ts";

test("the client speaks to the server in types, and a refusal says which field is wrong", async () => {
  await using house = await startServer({
    coordinator: script(
      call("ask_human", { question: "Which?" }),
      call("finish", { summary: "B" }).after("answers: B"),
    ),
  });
  const client = new ApiClient({ url: house.url, token: TOKEN });
  const { id, status } = await client.give({ do: "create", goal: "Ask" });
  expect(status).toBe("working");
  await house.until(id, ({ questions }) => "question-1" in questions.open);
  expect((await client.questions(id)).questions.map(({ text }) => text)).toEqual(["Which?"]);
  expect((await client.inbox()).items.map(({ id: item }) => item)).toEqual(["question-1"]);
  expect(await client.give({ do: "respond", id, response: "B", question_id: "question-1" })).toEqual({
    status: "delivered",
    detail: "Answered.",
  });
  await house.until(id, ({ agent }) => agent.status === "completed");
  expect((await client.agent(id)).summary).toBe("B");
  expect((await client.events(id, { after: 0, limit: 1 })).events).toMatchObject([
    { seq: 1, type: "agent.created", agent_id: id },
  ]);
  const all = (await client.events(id, { after: 0 })).events;
  expect(await client.events(id, { limit: 3 })).toEqual({ events: all.slice(-3), next_after: null });
  expect((await client.events(id)).events).toEqual(all);
  expect(await client.give({ do: "archive", id })).toMatchObject({ archived: true });
  expect((await client.agents()).agents).toEqual([]);

  const refused = await client.give({ do: "create", goal: "" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ApiError);
  expect(refused).toMatchObject({
    status: 400,
    code: "bad_request",
    details: [{ field: "goal", problem: "it must not be empty" }],
  });
  const stranger = new ApiClient({ url: house.url, token: "wrong" });
  expect(await stranger.agents().catch((error: unknown) => error)).toMatchObject({ status: 401, code: "unauthorised" });
});

test("a server that is not there is said to be so, and why", async () => {
  const house = await startServer({ coordinator: script() });
  const { url } = house;
  const client = new ApiClient({ url, token: TOKEN });
  await house[Symbol.asyncDispose]();
  await expect(client.agents()).rejects.toMatchObject({
    name: "UnreachableServer",
    message: expect.stringMatching(new RegExp(`^The server at ${url} cannot be reached: .*ECONNREFUSED`)),
  });
});

test("whoever listens hears a model's words as they come", async () => {
  await using house = await startServer({
    coordinator: script(
      call("ask_human", { question: "Which?" }),
      say("I take the blue one.").after("answers: B"),
      call("finish", { summary: "B" }),
    ),
  });
  const client = new ApiClient({ url: house.url, token: TOKEN });
  const { id } = await client.give({ do: "create", goal: "Ask" });
  const agent = await house.until(id, ({ questions }) => "question-1" in questions.open);
  const heard: string[] = [];
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const listening = listened(agent);
  const close = client.onDelta(id, agent.log.seq, ({ text }) => {
    heard.push(text);
    if (heard.join("") === "I take the blue one.") resolve();
  });
  await listening;
  await client.give({ do: "respond", id, response: "B" });
  await all;
  close();
});

/** Resolves when somebody hears the agent's words. */
function listened(agent: Agent): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const listen = agent.onDelta.bind(agent);
  agent.onDelta = (listener) => {
    resolve();
    return listen(listener);
  };
  return promise;
}
