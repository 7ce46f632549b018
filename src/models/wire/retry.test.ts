import { expect, test } from "vitest";
import { NO_USAGE, type ReplyEntry } from "../../protocol/index.ts";
import { type FailureReason, type Model, ModelFailure } from "../model.ts";
import { withRetry } from "./retry.ts";

const said: ReplyEntry = {
  role: "assistant",
  content: [{ type: "text", text: "hi" }],
  model: "p/m",
  usage: NO_USAGE,
  cost_usd: 0,
  finish: "stop",
};

test("waits longer from try to try, and tells every failure before it waits", async () => {
  const tries = await retry([failure("server"), failure("rate_limited"), failure("connection")]);

  expect(tries).toEqual({
    outcome: said,
    told: [
      ["server", 500],
      ["rate_limited", 1_000],
      ["connection", 2_000],
    ],
    slept: [500, 1_000, 2_000],
  });
});

test("waits at least as long as it was asked to, each worker a little differently", async () => {
  const asked = () => failure("rate_limited", { retryAfterMs: 7_000 });

  expect((await retry([asked()], { random: 0 })).slept).toEqual([7_000]);
  expect((await retry([asked()], { random: 0.5 })).slept).toEqual([7_400]);
});

test("a provider that asks for a second each time does not use up the tries in a few seconds", async () => {
  const asked = () => failure("rate_limited", { retryAfterMs: 1_000 });

  expect((await retry([asked(), asked(), asked(), asked(), asked()])).slept).toEqual([
    1_000, 1_000, 2_000, 4_000, 8_000,
  ]);
});

test("a wait that is too long to sit out goes to the caller, with its length", async () => {
  const limited = failure("rate_limited", { retryAfterMs: 3_600_000 });

  expect(await retry([limited])).toEqual({ outcome: limited, told: [["rate_limited", null]], slept: [] });
});

test("gives up after a bounded number of tries, and earlier on those that were paid for", async () => {
  const tries = async (reason: FailureReason) =>
    (await retry(Array.from({ length: 20 }, () => failure(reason)))).told.length;

  expect({ server: await tries("server"), truncated: await tries("truncated"), empty: await tries("empty") }).toEqual({
    server: 6,
    truncated: 3,
    empty: 3,
  });
});

test.each(["bad_request", "auth", "context_too_long"] as const)("%s is not tried again", async (reason) => {
  const refused = failure(reason, { retryable: false });

  expect(await retry([refused])).toEqual({ outcome: refused, told: [[reason, null]], slept: [] });
});

test("a bug is not a failed try", async () => {
  const bug = new Error("bug");

  expect(await retry([bug])).toEqual({ outcome: bug, told: [], slept: [] });
});

test("stopped means stopped: no further try, and the signal's reason", async () => {
  const controller = new AbortController();
  const reason = new Error("stop");
  const stopping: Model = {
    ...playing([]),
    reply: () => {
      controller.abort(reason);
      return Promise.reject(failure("server"));
    },
  };
  const model = withRetry(stopping, { sleep: () => Promise.reject(new Error("slept")), random: () => 0 });

  await expect(model.reply({ system: "", history: [], tools: [] }, controller.signal)).rejects.toBe(reason);
});

async function retry(failures: Error[], { random = 0 } = {}) {
  const told: [string, number | null][] = [];
  const slept: number[] = [];
  const model = withRetry(playing(failures), {
    random: () => random,
    sleep: async (ms) => {
      slept.push(ms);
    },
  });
  const onFailure = (failed: ModelFailure, wait: number | null) => void told.push([failed.reason, wait]);
  const signal = new AbortController().signal;
  const outcome = await model
    .reply({ system: "", history: [], tools: [], onFailure }, signal)
    .catch((error: unknown) => error);
  return { outcome, told, slept };
}

function playing(failures: Error[]): Model {
  const left = [...failures];
  return {
    id: "p/m",
    contextWindow: 1,
    searchesWeb: false,
    async reply() {
      const next = left.shift();
      if (next) throw next;
      return said;
    },
  };
}

function failure(
  reason: FailureReason,
  { retryable = true, ...details }: { retryable?: boolean; retryAfterMs?: number } = {},
) {
  return new ModelFailure(reason, reason, { retryable, ...details });
}
