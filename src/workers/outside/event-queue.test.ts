import { expect, test } from "vitest";
import { EventQueue } from "./event-queue.ts";
import type { OutsideEvent } from "./session.ts";

test("a session that fails ends its events with the reason, and leaves no rejection unhandled", async () => {
  const events = new EventQueue();
  events.own(Promise.reject(new Error("the pipe broke")));
  const seen: OutsideEvent[] = [];
  for await (const event of events) seen.push(event);
  expect(seen).toEqual([
    { kind: "noted", text: "It could not be followed any more: Error: the pipe broke" },
    { kind: "exited", code: null, signal: null, exceeded: null },
  ]);
});
