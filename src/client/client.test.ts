import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import type { Fact } from "../protocol/index.ts";
import { call, say, script } from "../testing/index.ts";
import { startServer, TOKEN } from "../testing/start-server.ts";
import { ApiClient, ApiError } from "./client.ts";
import { HeardWords } from "./heard-words.ts";

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

test("whoever looks on has every fact once and in order, and the words of each reply before the fact that ends it", async () => {
  await using house = await startServer({
    coordinator: script(
      say("I look at both."),
      call("ask_human", { question: "Which?" }),
      say("I take the blue one.").after("answers: B"),
      call("finish", { summary: "B" }),
    ),
  });
  const client = new ApiClient({ url: house.url, token: TOKEN });
  const { id } = await client.give({ do: "create", goal: "Ask" });
  // The first reply has ended before anybody listens.
  await house.until(id, ({ questions }) => "question-1" in questions.open);
  const heard: (number | string)[] = [];
  const leaving = new AbortController();
  const rested = Promise.withResolvers<void>();
  const following = client.follow(
    id,
    0,
    {
      fact: ({ seq, type }) => heard.push(type === "model.responded" ? type : seq),
      delta: ({ text }) => heard.push(text),
      rest: () => rested.resolve(),
    },
    leaving.signal,
  );
  await client.give({ do: "respond", id, response: "B" });
  await rested.promise;
  leaving.abort();
  await following;
  const facts = (await client.events(id, { after: 0 })).events;
  const words = heard.filter((each) => typeof each === "string");
  expect(heard.filter((each) => typeof each === "number")).toEqual(
    facts.flatMap(({ seq, type }) => (type === "model.responded" ? [] : [seq])),
  );
  expect(words).toEqual([
    ...["I look at both.", "model.responded", "model.responded"],
    ...["I take the blue one.", "model.responded", "model.responded"],
  ]);
});

test("words that were heard before a connection was lost are not told again", () => {
  const words = new HeardWords();
  const frame = { type: "delta", agent_id: "a", worker_id: "ada", node_id: null, kind: "text" } as const;
  const ended = { type: "model.responded", data: { worker_id: "ada" } } as Fact;
  const told = [
    words.hear({ ...frame, text: "Good " }),
    words.hear({ ...frame, text: "Good morn", so_far: true }),
    words.hear({ ...frame, text: "ing" }),
    words.hear({ ...frame, text: "Good morning", so_far: true }),
  ];
  words.note(ended);
  told.push(words.hear({ ...frame, text: "Good night", so_far: true }));
  expect(told).toEqual(["Good ", "morn", "ing", "", "Good night"]);
});

test("what an onlooker throws ends the following with that error", async () => {
  await using house = await startServer({ coordinator: script(call("finish", { summary: "Done" })) });
  const client = new ApiClient({ url: house.url, token: TOKEN });
  const { id } = await client.give({ do: "create", goal: "Finish" });
  const broken = () => {
    throw new Error("It cannot be drawn.");
  };
  await expect(client.follow(id, 0, { fact: broken }, new AbortController().signal)).rejects.toThrow(
    "It cannot be drawn.",
  );
});

test("a refusal that is not in the server's form is still one, with what can be read of it", async () => {
  const details = [null, "goal", { field: "goal", problem: 3 }, { field: "goal", problem: "it must not be empty" }];
  const answer = { error: { code: "bad_request", message: "goal: it must not be empty", details } };
  const client = new ApiClient({
    url: "http://127.0.0.1:1",
    fetch: async () => Response.json(answer, { status: 400 }),
  });
  const refused = await client.agents().catch((error: unknown) => error as ApiError);
  expect(refused).toMatchObject({ status: 400, fields: { goal: "it must not be empty" } });
});

test("a server of another version is said to be one", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answers = [
    (socket: WebSocket) => socket.send('{"seq":1,"type":"agent.danced","agent_id":"a","ts":1,"data":{}}'),
    (socket: WebSocket) => socket.close(4400, 'watch: there is no field "watch"'),
    // As servers said it before there was such a field.
    (socket: WebSocket) => socket.close(4400, ': Unrecognized key: "watch"'),
  ];
  server.on("connection", (socket) => answers.shift()?.(socket));
  const client = new ApiClient({ url, token: TOKEN });
  for (const _ of [1, 2, 3])
    await expect(client.follow("a", 0, { fact: () => {} }, new AbortController().signal)).rejects.toMatchObject({
      code: "other_version",
      message: `The process at ${url} is of another version of Agiraph. Start it again, and try once more.`,
    });
});
