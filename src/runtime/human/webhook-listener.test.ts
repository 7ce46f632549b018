import { request as httpRequest } from "node:http";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { ReceivedIds } from "../../mail/channels/receive-webhook.ts";
import { DELIVERY_HEADER, SIGNATURE_HEADER, signatureOf, TIMESTAMP_HEADER } from "../../mail/channels/signature.ts";
import type { Config } from "../../protocol/config.ts";
import { call, script, startTeam, type TestTeam } from "../../testing/index.ts";
import { startWebhookReceiver } from "../../testing/webhook-receiver.ts";
import { openWebhookListeners } from "./webhook-listener.ts";

const SECRET = "a secret of the house";
const ASK = call("ask_human", { question: "Which one?" });
const DONE = call("finish", { summary: "Done." });

test("an answer comes in by webhook, and the work goes on with it", async () => {
  await using team = await startListening(script(ASK, DONE.after("Your human answers: B")));
  await team.until(({ questions }) => "question-1" in questions.open);
  const answered = await post(team, { agent_id: team.agent.log.id, question_id: "question-1", response: "B" });
  expect(answered).toEqual({ status: 200, body: { ok: true, message: "Answered." } });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Done." });
  const responses = (await team.facts()).flatMap((fact) => (fact.type === "human.response" ? [fact.data] : []));
  expect(responses).toEqual([
    { question_id: "question-1", worker_id: "coordinator", text: "B", channel: "webhook:pager" },
  ]);
});

test("a message comes in by webhook, to whom it names", async () => {
  await using team = await startListening(script(ASK, DONE.after("hurry")));
  await team.until(({ questions }) => "question-1" in questions.open);
  const unknown = await post(team, { agent_id: team.agent.log.id, message: "hurry", to: "Nobody" });
  expect(unknown.status).toBe(404);
  // Whoever asked and is written to has their answer.
  expect((await post(team, { agent_id: team.agent.log.id, message: "hurry" })).status).toBe(200);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Done." });
});

test("every refusal is said in the same form, and changes nothing", async () => {
  await using team = await startListening(script(ASK, DONE));
  await team.until(({ questions }) => "question-1" in questions.open);
  await team.until(({ outbox }) => outbox.waiting.length === 0);
  const id = team.agent.log.id;
  const answer = { agent_id: id, question_id: "question-1", response: "B" };
  const before = (await team.facts()).length;
  const got = {
    unsigned: await post(team, answer, { headers: { [SIGNATURE_HEADER]: "v1=00" } }),
    old: await post(team, answer, { signed: Date.now() - 301_000 }),
    get: await send(team, "GET", "/webhooks/pager", {}, ""),
    elsewhere: await send(team, "POST", "/", {}, ""),
    otherChannel: await send(team, "POST", "/webhooks/constructor", {}, ""),
    climbing: await send(team, "POST", "/webhooks/../pager", {}, ""),
    form: await post(team, answer, { headers: { "content-type": "application/x-www-form-urlencoded" } }),
    large: await post(team, { ...answer, response: "x".repeat(70_000) }),
    largeUnannounced: await post(team, { ...answer, response: "x".repeat(70_000) }, { isChunked: true }),
    malformed: await post(team, { agent_id: id }),
    agent: await post(team, { ...answer, agent_id: "agent-zzzz" }),
    question: await post(team, { ...answer, question_id: "question-9" }),
  };
  const codes = Object.entries(got).map(([which, { status, body }]) => [which, status, codeIn(body)]);
  expect(codes).toEqual([
    ["unsigned", 401, "bad_signature"],
    ["old", 401, "too_old"],
    ["get", 405, "method_not_allowed"],
    ["elsewhere", 404, "not_found"],
    ["otherChannel", 404, "not_found"],
    ["climbing", 404, "not_found"],
    ["form", 415, "not_json"],
    ["large", 413, "too_large"],
    ["largeUnannounced", 413, "too_large"],
    ["malformed", 400, "bad_request"],
    ["agent", 404, "not_found"],
    ["question", 404, "not_found"],
  ]);
  expect(got.agent.body).toEqual({
    error: {
      code: "not_found",
      message: 'There is no agent "agent-zzzz". GET /agents and `agiraph ls` list those that exist.',
    },
  });
  expect((await team.facts()).length).toBe(before);

  expect((await post(team, answer)).status).toBe(200);
  expect(await post(team, answer)).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
  await team.outcome();
});

test("the same request is taken once, and so is the same delivery signed anew", async () => {
  await using team = await startListening(script(ASK, DONE));
  await team.until(({ questions }) => "question-1" in questions.open);
  const words = { agent_id: team.agent.log.id, message: "hello", to: "*" };
  const once = { signed: Date.now(), headers: { [DELIVERY_HEADER]: "mine-1" } };
  const answers = [
    await post(team, words, once),
    await post(team, words, once),
    await post(team, words, { ...once, signed: once.signed + 1 }),
  ];
  expect(answers.map(({ status, body }) => [status, codeIn(body)])).toEqual([
    [200, undefined],
    [409, "already_received"],
    [409, "already_received"],
  ]);
  expect((await team.facts()).filter(({ type }) => type === "message.sent").length).toBe(1);
  await team.agent.respond("A");
  await team.outcome();
});

test("what goes wrong inside is not told", async () => {
  const channel = { name: "pager", signed: { secret: SECRET, port: 0 } };
  const broken = () => Promise.reject(new Error("ENOSPC /secret/path"));
  const webhookListeners = await openWebhookListeners([channel], {
    execute: broken,
    now: Date.now,
    memory: new ReceivedIds(0),
  });
  const { status, body } = await post({ runtime: { webhookListeners } }, { agent_id: "agent-abcd", message: "hello" });
  for (const listener of webhookListeners) listener.close();
  expect({ status, body }).toEqual({
    status: 500,
    body: { error: { code: "internal", message: "It could not be recorded. Try again, with a new signature." } },
  });
});

test("a port that is taken is said with what to do", async () => {
  const holder = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => holder.once("listening", resolve));
  const address = holder.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const channel = { name: "pager", signed: { secret: SECRET, port } };
  const opening = openWebhookListeners([channel], {
    execute: () => Promise.reject(new Error()),
    now: Date.now,
    memory: new ReceivedIds(0),
  });
  await expect(opening).rejects.toThrow(
    `Answers through webhooks (pager) cannot be received: port ${port} is taken. Stop the program that holds it, or change listen.port in config.json.`,
  );
  holder.close();
});

async function startListening(coordinator: Parameters<typeof startTeam>[0]["coordinator"]) {
  const receiver = await startWebhookReceiver();
  const channel = { type: "webhook", url: receiver.url, secret: SECRET, listen: { port: 0 } } as const;
  const config: Config = { channels: { pager: channel } };
  const team = await startTeam({ goal: "Choose", coordinator, config });
  await team.runtime.listen();
  const close = team[Symbol.asyncDispose].bind(team);
  return Object.assign(team, {
    async [Symbol.asyncDispose]() {
      await close();
      await receiver[Symbol.asyncDispose]();
    },
  });
}

type Listening = { runtime: Pick<TestTeam["runtime"], "webhookListeners"> };
interface Sending {
  headers?: Record<string, string>;
  signed?: number;
  isChunked?: boolean;
}

let posts = 0;

/** Signed just now, and never twice in the same millisecond. */
function post(team: Listening, words: unknown, { headers, signed = Date.now() + ++posts, isChunked }: Sending = {}) {
  const body = JSON.stringify(words);
  const timestamp = (signed / 1000).toFixed(3);
  const all = {
    "content-type": "application/json",
    [TIMESTAMP_HEADER]: timestamp,
    [SIGNATURE_HEADER]: signatureOf(SECRET, timestamp, body),
    ...(isChunked ? { "transfer-encoding": "chunked" } : { "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  return send(team, "POST", "/webhooks/pager", all, body);
}

/** By hand: `fetch` would tidy up the path. */
function send(
  { runtime }: Listening,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; body: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
  const port = runtime.webhookListeners[0]?.port;
  const request = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false }, async (response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString("utf8")) });
  });
  request.once("error", reject);
  request.end(body);
  return promise;
}

function codeIn(body: unknown): unknown {
  const error = body instanceof Object ? Reflect.get(body, "error") : undefined;
  return error instanceof Object ? Reflect.get(error, "code") : undefined;
}
