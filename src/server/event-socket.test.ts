import { once } from "node:events";
import type { AddressInfo } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Fact, NewFact, NodeId } from "../protocol/index.ts";
import { call, hang, say, script, startTeam, type TestTeam } from "../testing/index.ts";
import { EVENT_LIMITS, type EventLimits, type EventSockets, registerEvents } from "./event-socket.ts";
import { EventClient } from "./testing/event-client.ts";

test("20 clients that come and go at random during 5,000 facts each have all of them, once, in order", async () => {
  const { team, url } = await served();
  const total = 5_000;
  const writing = write(team, total);
  const random = dice(7);
  const everybody = Array.from({ length: 20 }, () => persistent(url, total, random));
  await writing;
  const all = counted(1, total);
  for (const seen of await Promise.all(everybody)) expect(seen.seqs).toEqual(all);
  expect((await Promise.all(everybody)).every(({ connections }) => connections > 1)).toBe(true);
});

test("history comes from `after` on, then what happens, as it is in the log", async () => {
  const { team, url } = await served();
  await write(team, 20);
  const client = watch(`${url}?after=5`);
  await client.until(() => client.seqs.includes(20));
  await write(team, 22);
  await client.until(() => client.seqs.includes(22));
  expect(client.frames).toEqual((await team.facts()).slice(5));
});

test("who is slow is put back to its cursor, misses nothing, and nobody waits for it", async () => {
  const { team, app, url } = await served({ mostWaiting: 64 * 1024, page: 16 });
  const slow = watch(url);
  await slow.until((frames) => frames.length > 0);
  slow.socket.pause();
  const quick = watch(url);
  // Far more than the kernel holds for a socket that nobody reads.
  await write(team, 600, "x".repeat(32_000));
  await quick.until(() => quick.seqs.length === 600);
  const before = slow.seqs.length;
  const kept = Math.max(...[...app.websocketServer.clients].map(({ bufferedAmount }) => bufferedAmount));
  slow.socket.resume();
  await slow.until(() => slow.seqs.length === 600);
  expect(before).toBeLessThan(600);
  expect(kept).toBeLessThan(64 * 1024 + 33_000);
  expect(slow.seqs).toEqual(counted(1, 600));
});

test("streamed words arrive without a seq, before the fact they lead to, and are told to those who look on then", async () => {
  const { promise: looking, resolve: go } = Promise.withResolvers<void>();
  const coordinator = script(say("Hello there.").until(looking), call("finish", { summary: "done" }));
  const { team, url } = await served({}, coordinator);
  const client = watch(url);
  await client.until((frames) => frames.some(({ type }) => type === "model.called"));
  go();
  await client.until((frames) => frames.some(({ type }) => type === "model.responded"));
  const words = client.frames.findIndex(({ type }) => type === "delta");
  expect(client.frames[words]).toEqual({
    type: "delta",
    agent_id: team.agent.log.id,
    worker_id: "coordinator",
    node_id: null,
    kind: "text",
    text: "Hello there.",
  });
  expect(words).toBeLessThan(client.frames.findIndex(({ type }) => type === "model.responded"));
});

test("a snapshot comes first if asked for, with the facts just before it and all after it", async () => {
  const { team, url } = await served();
  await write(team, 50);
  const client = watch(`${url}?snapshot=1&recent=10`);
  await client.until(() => client.seqs.includes(50));
  await write(team, 51);
  await client.until(() => client.seqs.includes(51));
  expect(client.frames[0]).toMatchObject({ type: "snapshot", seq: 50, situation: { agent: { status: "working" } } });
  expect(client.seqs).toEqual(counted(41, 51));
});

test("a snapshot that is more than a socket holds is followed by facts like any other", async () => {
  const { team, url } = await served();
  const text = "x".repeat(1024 * 1024);
  for (let n = 0; n < 12; n++)
    await team.agent.log.append({
      facts: [
        {
          type: "message.sent",
          data: { message_id: `msg-${n}`, from: "coordinator", to: "human", text, file: "", hops: 1 },
        },
      ],
    }).durable;
  const { seq } = team.agent.log;
  const client = watch(`${url}?snapshot=1&recent=3`);
  await client.until(() => client.seqs.includes(seq));
  expect(client.seqs.slice(0, 3)).toEqual(counted(seq - 2, seq));
});

test("a wrong question is answered with a code and the reason", async () => {
  const { url, origin } = await served();
  const answers = [
    `${origin}/agents/agent-none/events`,
    `${origin}/agents/..%2F..%2Fetc/events`,
    `${url}?after=-1`,
    `${url}?after=x`,
    `${url}?snapshot=maybe`,
    `${url}?after=999999`,
    `${url}?wach=1`,
    `${url}?${"ж".repeat(80)}=1`,
  ].map((address) => watch(address).closed);
  const codes = (await Promise.all(answers)).map(({ code }) => code);
  expect(codes).toEqual([4404, 4404, 4400, 4400, 4400, 4400, 4400, 4400]);
  expect((await answers[2])?.reason).toBe("after: must be a whole number, 0 or more");
  expect((await answers[6])?.reason).toBe(
    'wach: there is no field "wach". Did you mean "watch"? Choose from: after, snapshot, recent, watch',
  );
  expect((await answers[7])?.reason).toMatch(/^ж{20}: there is no field "ж+$/u);
});

test("there is room for so many on one agent and so many in all", async () => {
  const { url, origin } = await served({ clientsPerAgent: 2, clients: 3 });
  const first = [watch(url), watch(url)];
  for (const client of first) await client.until((frames) => frames.length > 0);
  const oneAgent = await watch(url).closed;
  const list = watch(`${origin}/events`);
  await list.until((frames) => frames.length > 0);
  const all = await watch(url).closed;
  expect([oneAgent, all]).toEqual([
    { code: 4429, reason: "2 clients already follow this agent. Close one of them." },
    { code: 4429, reason: "3 clients are already connected. Close one of them." },
  ]);
});

test("who neither answers nor takes anything is let go; who answers stays; who talks is told where to", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { url, sockets } = await served();
  const dead = watch(url, { autoPong: false });
  const living = watch(url);
  for (const client of [dead, living]) await client.until((frames) => frames.length > 0);
  for (let round = 1; round <= 3; round++) {
    const asked = once(living.socket, "ping");
    vi.advanceTimersByTime(EVENT_LIMITS.pingMs);
    await asked;
    // Frames are taken in their order: when this is answered, the server has had the answer to its own.
    living.socket.ping();
    await once(living.socket, "pong");
  }
  expect((await dead.closed).code).toBe(1006);
  await expect.poll(() => sockets.clients).toBe(1);
  living.socket.send("hello");
  expect(await living.closed).toEqual({ code: 1008, reason: "This socket accepts no messages. Use the API." });
});

test("all agents at a glance: a summary of each, then the facts that change one", async () => {
  const { team, origin } = await served();
  const list = watch(`${origin}/events`);
  await list.until((frames) => frames.length > 0);
  const at = team.agent.now.seq;
  await write(team, at + 3);
  await team.agent.nudge("Hurry.");
  await list.until((frames) => frames.length > 1);
  expect(list.frames).toEqual([
    { type: "summaries", agents: [expect.objectContaining({ id: team.agent.log.id, status: "working" })] },
    expect.objectContaining({
      type: "human.nudge",
      data: { text: "Hurry.", channel: "terminal" },
      agent_id: team.agent.log.id,
    }),
  ]);
});

test("all agents at a glance: that a model fails is told, and that it answers only of an agent whose model failed", async () => {
  const { team, origin } = await served();
  const list = watch(`${origin}/events`);
  await list.until((frames) => frames.length > 0);
  const call = { worker_id: "coordinator", node_id: null, model: "m", turn: 1 } as const;
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
  const responded = { ...call, usage, cost_usd: 0, finish: "stop", ms: 1 };
  const failed = { ...call, reason: "connection", message: "No answer.", retry_in_ms: 60_000 };
  for (const fact of [
    { type: "model.responded", data: responded },
    { type: "model.failed", data: failed },
    { type: "model.responded", data: responded },
  ] as const)
    await team.agent.log.append({ facts: [fact] }).durable;
  await list.until((frames) => frames.length > 2);
  expect(list.frames.slice(1)).toEqual([
    expect.objectContaining({ type: "model.failed", data: failed }),
    expect.objectContaining({ type: "model.responded", data: responded }),
  ]);
});

test.each([
  ["infinite", ["worker.waiting", "worker.busy", "human.nudge"]],
  ["finite", ["human.nudge"]],
] as const)("all agents at a glance: of an agent that is %s it is told: %s", async (mode, told) => {
  const { team, origin } = await served({}, script(hang()), mode);
  const list = watch(`${origin}/events`);
  await list.until((frames) => frames.length > 0);
  const who = { worker_id: "coordinator", node_id: null };
  for (const fact of [
    { type: "worker.waiting", data: { ...who, for: "news" } },
    { type: "worker.busy", data: who },
  ] as const)
    await team.agent.log.append({ facts: [fact] }).durable;
  await team.agent.nudge("Hurry.");
  await list.until((frames) => frames.some(({ type }) => type === "human.nudge"));
  expect(list.frames.slice(1).map(({ type }) => type)).toEqual(told);
});

test("all agents at a glance: who goes on after everybody waited is told once", async () => {
  const { team, origin } = await served();
  const list = watch(`${origin}/events`);
  await list.until((frames) => frames.length > 0);
  const letter = { from: "coordinator", to: "human", text: "Everybody waits.", file: "f", hops: 1 };
  const thinks = (worker_id: string, node_id: NodeId | null): NewFact => ({
    type: "model.called",
    data: { worker_id, node_id, model: "m", turn: 1 },
  });
  const facts: NewFact[] = [
    thinks("alice", "node-1"),
    { type: "message.sent", data: { ...letter, message_id: "msg-1", deadlock: ["node-1"] } },
    thinks("coordinator", null),
    thinks("alice", "node-1"),
    thinks("alice", "node-1"),
  ];
  for (const fact of facts) await team.agent.log.append({ facts: [fact] }).durable;
  await team.agent.nudge("Hurry.");
  await list.until((frames) => frames.some(({ type }) => type === "human.nudge"));
  expect(list.frames.slice(1).map(({ type }) => type)).toEqual(["message.sent", "model.called", "human.nudge"]);
});

test("the plain GET of the same path stays what it is", async () => {
  const { app, team, origin } = await served();
  expect(app.hasRoute({ method: "GET", url: "/agents/:id/events", constraints: { upgrade: "websocket" } })).toBe(true);
  const answer = await fetch(`${origin.replace("ws", "http")}/agents/${team.agent.log.id}/events`);
  expect(await answer.json()).toEqual({ page: "of facts" });
});

interface Served {
  team: TestTeam;
  app: FastifyInstance;
  sockets: EventSockets;
  url: string;
  origin: string;
}

async function served(
  limits: Partial<EventLimits> = {},
  coordinator = script(hang()),
  mode: "finite" | "infinite" = "finite",
): Promise<Served> {
  const team = await startTeam({ goal: "Be watched", coordinator, mode });
  const app = Fastify();
  const sockets = await registerEvents(app, team, { ...EVENT_LIMITS, ...limits });
  app.get("/agents/:id/events", () => ({ page: "of facts" }));
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(async () => {
    await app.close();
    await team[Symbol.asyncDispose]();
  });
  const origin = `ws://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { team, app, sockets, origin, url: `${origin}/agents/${team.agent.log.id}/events` };
}

function watch(url: string, options = {}): EventClient {
  const client = new EventClient(url, options);
  onTestFinished(() => client.socket.terminate());
  return client;
}

/** Facts until there are `total`, a few at a time, each batch on disk before the next. */
async function write({ agent }: TestTeam, total: number, message = "a fact"): Promise<Fact | undefined> {
  const fact = {
    type: "model.warned" as const,
    data: { worker_id: "coordinator", node_id: null, model: "scripted/coordinator", message },
  };
  while (agent.log.seq < total)
    await agent.log.append({ facts: Array(Math.min(7, total - agent.log.seq)).fill(fact) }).durable;
  return undefined;
}

/** Connects again from its last seq whenever it was cut off, until it has all. */
async function persistent(url: string, total: number, random: () => number) {
  const seqs: number[] = [];
  for (let connections = 1; ; connections++) {
    const client = watch(`${url}?after=${seqs.at(-1) ?? 0}`);
    const patience = connections < 12 ? 1 + Math.floor(random() * 600) : total;
    const left = total - (seqs.at(-1) ?? 0);
    await client.until((frames) => frames.length >= Math.min(patience, left));
    client.socket.terminate();
    seqs.push(...client.seqs);
    if (seqs.at(-1) === total) return { seqs, connections };
  }
}

function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 0x1_0000_0000;
  };
}

function counted(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
