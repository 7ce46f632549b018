import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../../src/models/model.ts";
import { textOf } from "../../src/protocol/index.ts";
import { type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { adapters, modelOf } from "./provider-adapters.ts";

/** Whoever stops a model gets its answer at once, in the signal's own words, and the provider is hung up on. */
describe.each(adapters)("%s", (adapter) => {
  const places: Record<string, ProviderTurn> = {
    "before the provider answers": { text: "Too late.", hold: "here" },
    "in the middle of the words": { text: "Half of this will do, the rest is for nobody.", holdMidway: "here" },
    "in the middle of a call": { calls: [{ name: "publish", args: { summary: "a long story" } }], holdMidway: "here" },
  };

  test.each(Object.entries(places))("stopped %s", async (_, turn) => {
    await using server = await startProviderServer({ turns: [turn] });
    const stop = new AbortController();
    const told: string[] = [];
    const model = await modelOf(adapter, server, { sleep: noSleep });
    const reply = model.reply({ ...request, onFailure: ({ reason }) => told.push(reason) }, stop.signal);
    await server.reached("here");
    const reason = new Error("the human said stop");
    stop.abort(reason);

    await expect(reply).rejects.toBe(reason);
    expect({
      endings: await Promise.all(server.requests.map(({ ending }) => ending)),
      told,
      listeners: getEventListeners(stop.signal, "abort").length,
    }).toEqual({ endings: ["left"], told: [], listeners: 0 });
  });

  test("stopped during the wait for another try", async () => {
    await using server = await startProviderServer({ turns: [{ fault: { status: 529, retryAfter: 30 } }] });
    const stop = new AbortController();
    const waits: number[] = [];
    const model = await modelOf(adapter, server, {
      sleep: async (ms, signal) => {
        waits.push(ms);
        stop.abort("the human said stop");
        throw signal.reason;
      },
    });
    await expect(model.reply(request, stop.signal)).rejects.toBe("the human said stop");
    expect({ waits, requests: server.requests.length }).toEqual({ waits: [30_000], requests: 1 });
  });

  test.each(["before_headers", "midway"] as const)(
    "silent for too long (%s): hung up on, and tried again",
    async (stall) => {
      await using server = await startProviderServer({
        turns: [[{ text: "Half of this.", fault: { stall } }, { text: "Fine." }]],
      });
      const timers: { ms: number; fire: () => void }[] = [];
      const told: [string, number | null][] = [];
      const model = await modelOf(adapter, server, {
        sleep: async () => {},
        stallMs: 5_000,
        startTimer(ms, fire) {
          timers.push({ ms, fire });
          return { refresh() {}, stop() {} };
        },
      });
      const reply = model.reply(
        { ...request, onFailure: ({ reason }, wait) => told.push([reason, wait]) },
        new AbortController().signal,
      );
      await server.reached("stall");
      timers[0]?.fire();

      expect({
        text: textOf(await reply),
        told,
        timers: timers.map(({ ms }) => ms),
        endings: await Promise.all(server.requests.map(({ ending }) => ending)),
      }).toEqual({ text: "Fine.", told: [["stalled", 500]], timers: [5_000, 5_000], endings: ["left", "answered"] });
    },
  );

  test("stopped before it began: nothing is sent", async () => {
    await using server = await startProviderServer({ respond: () => ({ text: "Too late." }) });
    const model = await modelOf(adapter, server, { sleep: noSleep });
    await expect(model.reply(request, AbortSignal.abort("never mind"))).rejects.toBe("never mind");
    expect(server.requests).toEqual([]);
  });

  test("nobody listens at the address: a bounded number of tries", async () => {
    const gone = await startProviderServer({});
    await gone.close();
    const told: [string, number | null][] = [];
    const model = await modelOf(adapter, gone, { sleep: async () => {} });
    const reply = model.reply(
      { ...request, onFailure: ({ reason }, wait) => told.push([reason, wait]) },
      new AbortController().signal,
    );
    await expect(reply).rejects.toMatchObject({ name: "ModelFailure", reason: "connection" });
    expect(told).toEqual([500, 1_000, 2_000, 4_000, 8_000, null].map((wait) => ["connection", wait]));
  });

  test("a reply leaves no listener on the signal of a worker that lives for days", async () => {
    await using server = await startProviderServer({ respond: () => ({ text: "Fine." }) });
    const { signal } = new AbortController();
    const model = await modelOf(adapter, server, { sleep: noSleep });
    for (let turn = 0; turn < 3; turn++) await model.reply(request, signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

const request: ModelRequest = {
  system: "You are brief.",
  history: [{ role: "user", from: "human", content: "Go." }],
  tools: [{ name: "publish", description: "Publishes.", parameters: { type: "object", properties: {} } }],
};

async function noSleep(): Promise<void> {
  throw new Error("Nothing here is to be tried again.");
}
