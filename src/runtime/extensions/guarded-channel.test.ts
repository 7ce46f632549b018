import { expect, test } from "vitest";
import { createScrubber } from "../../boundary/scrubber.ts";
import type { Channel } from "../../mail/channels/channel.ts";
import type { Utterance } from "../../mail/channels/utterance.ts";
import { guardedChannel } from "./guarded-channel.ts";

const SECRET = "sk-0123456789abcdef";
const said = { text: "Hello." } as Utterance;
const scrubber = createScrubber([{ name: "PAGER_KEY", value: SECRET }]);

function deliver(channel: Channel["deliver"], signal = new AbortController().signal) {
  return guardedChannel({ name: "pager", deliver: channel }, scrubber).deliver(said, signal);
}

test("ADDED-CHANNEL-1: a try ends with its signal, although the channel does not heed it", async () => {
  const late = new AbortController();
  const trying = deliver(() => new Promise(() => {}), late.signal);
  late.abort();
  expect(await trying).toEqual({ kind: "failed", why: "it did not answer in time" });
});

test("ADDED-CHANNEL-2: what it throws or gives back is a delivery, or a failure without secrets", async () => {
  const given = (value: unknown) => deliver(async () => value as { kind: "delivered" });
  expect(await given({ kind: "delivered", extra: 1 })).toEqual({ kind: "delivered" });
  expect(await given({ kind: "refused", why: `not with ${SECRET}` })).toEqual({
    kind: "refused",
    why: "not with [redacted: PAGER_KEY]",
  });
  expect(await given({ kind: "failed", why: "busy", retryAfterMs: 5 })).toEqual({
    kind: "failed",
    why: "busy",
    retryAfterMs: 5,
  });
  expect(await given(undefined)).toMatchObject({ kind: "failed", why: expect.stringMatching(/not a delivery/) });
  expect(await deliver(() => Promise.reject(new Error(`${SECRET} ${"x".repeat(1000)}`)))).toEqual({
    kind: "failed",
    why: `[redacted: PAGER_KEY] ${"x".repeat(478)}`,
  });
  expect(
    await deliver(() => {
      throw "at once";
    }),
  ).toEqual({ kind: "failed", why: "at once" });
});

test("what it delivers is in our order, and everything if it does not say", () => {
  const channel: Channel = { name: "pager", deliver: async () => ({ kind: "delivered" }) };
  expect(guardedChannel(channel, scrubber).to).toEqual(["questions", "messages", "ends"]);
  expect(guardedChannel({ ...channel, to: ["ends", "questions"] }, scrubber).to).toEqual(["questions", "ends"]);
});
