import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import type { Clock } from "../../protocol/clock.ts";
import type { Config } from "../../protocol/config.ts";
import type { Fact } from "../../protocol/index.ts";
import { call, manualClock, script, startTeam, temporaryHome, until } from "../../testing/index.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../../testing/webhook-receiver.ts";
import { SettingsError } from "../config/settings.ts";
import { openRuntime } from "../open-runtime.ts";

const SECRET = "a secret of the house";
const ASK = call("ask_human", { question: "Which one?", choices: ["A", "B"] });
const DONE = call("finish", { summary: "Done." });

test("a question, a message and the end of a run go out, in order, signed, each once", async () => {
  await using receiver = await startWebhookReceiver();
  await using team = await startTeam({
    goal: "Choose",
    coordinator: script(call("send_message", { to: "human", content: "I begin." }), ASK, DONE),
    config: configFor(receiver),
  });
  await receiver.got(2);
  await team.agent.respond("A");
  await team.outcome();
  await receiver.got(3);
  const bodies = receiver.received.map(({ body }) => JSON.parse(body));
  expect(bodies).toMatchObject([
    { kind: "message", message: { text: "I begin." }, from: { name: "Coordinator" } },
    { kind: "question", question: { id: "question-1", text: "Which one?", choices: ["A", "B"] } },
    { kind: "end", end: { run_id: "run-1", status: "completed", text: "Done." } },
  ]);
  for (const { headers, body } of receiver.received) {
    const timestamp = String(headers["x-agiraph-timestamp"]);
    const mac = createHmac("sha256", SECRET).update(`${timestamp}.${body}`).digest("hex");
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "x-agiraph-signature": `v1=${mac}`,
      "x-agiraph-delivery": JSON.parse(body).delivery,
    });
  }
  await until(team.agent, ({ outbox }) => outbox.waiting.length === 0);
  expect(channelFacts(await team.facts())).toEqual([
    ["channel.opened", { channel: "pager", to: ["questions", "messages", "ends"] }],
    ["channel.delivered", { channel: "pager", of: "msg-1", fact: expect.any(Number) }],
    ["channel.delivered", { channel: "pager", of: "question-1", fact: expect.any(Number) }],
    ["channel.delivered", { channel: "pager", of: "run-1", fact: expect.any(Number) }],
  ]);
});

test("a channel carries only what it is for", async () => {
  await using receiver = await startWebhookReceiver();
  await using team = await startTeam({
    goal: "Choose",
    coordinator: script(call("send_message", { to: "human", content: "I begin." }), DONE),
    config: configFor(receiver, { to: ["ends"] }),
  });
  await team.outcome();
  await receiver.got(1);
  expect(receiver.received.map(({ body }) => JSON.parse(body).kind)).toEqual(["end"]);
});

test("a question that names one of the channels goes by that one; any other name restricts nothing", async () => {
  await using one = await startWebhookReceiver();
  await using other = await startWebhookReceiver();
  await using team = await startTeam({
    goal: "Choose",
    coordinator: script(
      call("ask_human", { question: "To one?", channel: "webhook:one" }),
      call("ask_human", { question: "To all?", channel: "constructor" }),
      DONE,
    ),
    config: { channels: { ...configFor(one, {}, "one").channels, ...configFor(other, {}, "other").channels } },
  });
  await one.got(1);
  await team.agent.respond("yes");
  await Promise.all([one.got(2), other.got(1)]);
  await team.agent.respond("yes");
  await team.outcome();
  const asked = (receiver: WebhookReceiver) =>
    receiver.received.flatMap(({ body }) => JSON.parse(body).question?.text ?? []);
  expect([asked(one), asked(other)]).toEqual([["To one?", "To all?"], ["To all?"]]);
});

test("what fails is tried again, ever more rarely, with the same delivery id and a new signature", async () => {
  const clock = watched();
  const answers = [{ status: 500 }, "reset", { status: 408 }, { status: 503 }] as const;
  await using receiver = await startWebhookReceiver((count) => answers[count - 1] ?? { status: 200 });
  await using team = await startTeam({ goal: "End", coordinator: script(DONE), config: configFor(receiver), clock });
  await team.outcome();
  const waits: number[] = [];
  for (const _ of answers) {
    const wait = await clock.backoff();
    waits.push(wait);
    await clock.advance(wait);
  }
  await until(team.agent, ({ outbox }) => outbox.waiting.length === 0);
  const longest = [2000, 4000, 8000, 16_000];
  expect(waits.map((wait, at) => wait >= (longest[at] ?? 0) / 2 && wait <= (longest[at] ?? 0))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  const why = ["it answered 500", expect.stringMatching(/could not be reached/), "it answered 408", "it answered 503"];
  expect(channelFacts(await team.facts()).slice(1)).toEqual([
    ...why.map((each, at) => [
      "channel.delayed",
      { channel: "pager", of: "run-1", fact: expect.any(Number), why: each, attempts: at + 1, retry_in_ms: waits[at] },
    ]),
    ["channel.delivered", { channel: "pager", of: "run-1", fact: expect.any(Number) }],
  ]);
  const headers = receiver.received.map((post) => post.headers);
  expect(new Set(headers.map((each) => each["x-agiraph-delivery"])).size).toBe(1);
  expect(new Set(headers.map((each) => each["x-agiraph-signature"])).size).toBe(5);
});

test("the other side says when: we come no sooner", async () => {
  const clock = watched();
  await using receiver = await startWebhookReceiver((count) =>
    count === 1 ? { status: 429, headers: { "retry-after": "120" } } : { status: 200 },
  );
  await using team = await startTeam({ goal: "End", coordinator: script(DONE), config: configFor(receiver), clock });
  await team.outcome();
  const wait = await clock.backoff();
  expect(wait).toBeGreaterThanOrEqual(120_000);
  await clock.advance(119_999);
  expect(receiver.received.length).toBe(1);
  await clock.advance(wait - 119_999);
  await until(team.agent, ({ outbox }) => outbox.waiting.length === 0);
});

test("who never answers is given up after a day, with a fact", async () => {
  const clock = watched();
  await using receiver = await startWebhookReceiver(() => ({ status: 503 }));
  await using team = await startTeam({ goal: "End", coordinator: script(DONE), config: configFor(receiver), clock });
  await team.outcome();
  const began = clock.now();
  while (team.agent.now.outbox.waiting.length > 0) await clock.advance(await clock.backoff());
  const facts = channelFacts(await team.facts());
  expect(facts.at(-1)).toEqual([
    "channel.failed",
    {
      channel: "pager",
      of: "run-1",
      fact: expect.any(Number),
      why: "it answered 503",
      attempts: receiver.received.length,
    },
  ]);
  const givenUp = (await team.facts()).find(({ type }) => type === "channel.failed")?.ts ?? 0;
  const hours = (givenUp * 1000 - began) / 3_600_000;
  expect([hours > 22, hours <= 24, receiver.received.length < 60]).toEqual([true, true, true]);
});

test.each([
  [404, {}, "it answered 404"],
  [401, {}, "it answered 401"],
  [
    302,
    { location: "http://127.0.0.1:1/" },
    "it redirects to http://127.0.0.1:1 (302), which is not followed. If the service is there now, change channels.pager.url in config.json to match",
  ],
])("%i is final: given up at once, and the next thing said goes out", async (status, headers, why) => {
  await using receiver = await startWebhookReceiver((count) => (count === 1 ? { status, headers } : { status: 200 }));
  await using team = await startTeam({
    goal: "Choose",
    coordinator: script(call("send_message", { to: "human", content: "I begin." }), DONE),
    config: configFor(receiver),
  });
  await team.outcome();
  await until(team.agent, ({ outbox }) => outbox.waiting.length === 0);
  expect(channelFacts(await team.facts()).slice(1)).toEqual([
    ["channel.failed", { channel: "pager", of: "msg-1", fact: expect.any(Number), why, attempts: 1 }],
    ["channel.delivered", { channel: "pager", of: "run-1", fact: expect.any(Number) }],
  ]);
});

test("a try that is not answered in ten seconds has failed", async () => {
  const clock = watched();
  await using receiver = await startWebhookReceiver((count) => (count === 1 ? "silence" : { status: 200 }));
  await using team = await startTeam({ goal: "End", coordinator: script(DONE), config: configFor(receiver), clock });
  await team.outcome();
  await receiver.got(1);
  await clock.advance(10_000);
  await clock.advance(await clock.backoff());
  await until(team.agent, ({ outbox }) => outbox.waiting.length === 0);
  expect(receiver.received.length).toBe(2);
});

test("a question that was answered meanwhile is not asked any more", async () => {
  const clock = watched();
  await using receiver = await startWebhookReceiver((count) => ({ status: count === 1 ? 500 : 200 }));
  await using team = await startTeam({
    goal: "Ask",
    coordinator: script(ASK, DONE),
    config: configFor(receiver),
    clock,
  });
  const wait = await clock.backoff();
  await team.agent.respond("B");
  await team.outcome();
  await clock.advance(wait);
  await receiver.got(2);
  expect(receiver.received.map(({ body }) => JSON.parse(body).kind)).toEqual(["question", "end"]);
});

test("what was not delivered when the process ended goes out in the next one, under the same id", async () => {
  await using home = await temporaryHome();
  let isDown = true;
  await using receiver = await startWebhookReceiver(() => ({ status: isDown ? 500 : 200 }));
  const config = configFor(receiver);
  const team = await startTeam({ goal: "Ask", coordinator: script(ASK), config, home: home.path });
  await receiver.got(1);
  const { id } = team.agent.now.agent;
  await team.runtime.close();
  isDown = false;

  const next = await openRuntime({ home: home.path, env: {}, config });
  const agent = await next.agent(id);
  await until(agent, ({ outbox }) => outbox.waiting.length === 0);
  await next.close();
  expect(receiver.received.map(({ headers }) => headers["x-agiraph-delivery"])).toEqual([
    `${id}.question-1.${factOf(receiver)}.pager`,
    `${id}.question-1.${factOf(receiver)}.pager`,
  ]);

  const third = await openRuntime({ home: home.path, env: {}, config });
  await third.agent(id);
  await third.close();
  expect(receiver.received.length).toBe(2);
});

test("a channel that is opened late asks what is still open; one that is taken away carries nothing more", async () => {
  await using home = await temporaryHome();
  await using receiver = await startWebhookReceiver();
  const coordinator = script(call("send_message", { to: "human", content: "I begin." }), ASK);
  const team = await startTeam({ goal: "Ask", coordinator, home: home.path });
  await team.until(({ questions }) => "question-1" in questions.open);
  const { id } = team.agent.now.agent;
  await team.runtime.close();

  const later = await openRuntime({ home: home.path, env: {}, config: configFor(receiver) });
  const agent = await later.agent(id);
  await until(agent, ({ outbox }) => outbox.waiting.length === 0);
  await later.close();
  expect(receiver.received.map(({ body }) => JSON.parse(body).kind)).toEqual(["message", "question"]);

  const without = await openRuntime({ home: home.path, env: {}, config: {} });
  expect((await without.agent(id)).now.outbox).toEqual({ open: {}, waiting: [] });
  await without.close();
});

test("closing right after the end still lets the end go out", async () => {
  await using receiver = await startWebhookReceiver();
  const team = await startTeam({ goal: "End", coordinator: script(DONE), config: configFor(receiver) });
  await team.outcome();
  await team[Symbol.asyncDispose]();
  expect(receiver.received.map(({ body }) => JSON.parse(body).kind)).toEqual(["end"]);
});

test("a secret from the environment signs; a missing one is said before anything is opened", async () => {
  await using home = await temporaryHome();
  const channels = { pager: { type: "webhook", url: "https://example.org/", secret_env: "PAGER_SECRET" } } as const;
  const open = (env: Record<string, string>) => openRuntime({ home: home.path, env, config: { channels } });
  await expect(open({})).rejects.toThrow(SettingsError);
  await expect(open({})).rejects.toThrow("PAGER_SECRET, which is not set");
  await expect(open({ PAGER_SECRET: "short" })).rejects.toThrow("fewer than 16 characters");
  await (await open({ PAGER_SECRET: SECRET })).close();
});

type ChannelOptions = Partial<NonNullable<Config["channels"]>[string]>;

function configFor({ url }: WebhookReceiver, options: ChannelOptions = {}, name = "pager"): Config {
  return { channels: { [name]: { type: "webhook", url, secret: SECRET, ...options } } };
}

function channelFacts(facts: readonly Fact[]): [string, unknown][] {
  return facts.flatMap(({ type, data }) => (type.startsWith("channel.") ? [[type, data] as [string, unknown]] : []));
}

/** Of the first delivery: the number of the fact that said it. */
function factOf({ received }: WebhookReceiver): string {
  return String(received[0]?.headers["x-agiraph-delivery"]).split(".")[2] ?? "";
}

/** A manual clock that tells how long the postman waits before it tries again. */
function watched(): ReturnType<typeof manualClock> & { backoff(): Promise<number> } {
  const clock = manualClock();
  const waits: number[] = [];
  let heard: (() => void) | undefined;
  const sleep: Clock["sleep"] = (ms, signal) => {
    const slept = clock.sleep(ms, signal);
    // A single try has ten seconds, and the last ones five.
    if (ms !== 10_000 && ms !== 5_000) {
      waits.push(ms);
      heard?.();
    }
    return slept;
  };
  return {
    ...clock,
    get due() {
      return clock.due;
    },
    sleep,
    async backoff() {
      while (waits.length === 0)
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      return waits.shift() ?? 0;
    },
  };
}
