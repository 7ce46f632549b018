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

const LARGE = "x".repeat(9 * 1024 * 1024);

test.for([
  ["a few large ones", Array.from({ length: 3 }, (): OutsideEvent => ({ kind: "delta", of: "text", text: LARGE }))],
  ["large arguments", Array.from({ length: 3 }, (_, at): OutsideEvent => called(`c-${at}`, { content: LARGE }))],
  ["large changes in requests without arguments", Array.from({ length: 3 }, (_, at) => wants(`w-${at}`, LARGE))],
  ["many small ones", Array.from({ length: 2000 }, (_, at): OutsideEvent => called(`c-${at}`, {}))],
] as const)("whoever brings events waits while %s wait for their reader", async ([, events]) => {
  const queue = new EventQueue();
  queue.push(...events);
  let hasRoom = false;
  const room = queue.room().then(() => {
    hasRoom = true;
  });
  await Promise.resolve();
  expect(hasRoom).toBe(false);
  const reader = queue[Symbol.asyncIterator]();
  for (let left = events.length; left > 0; left--) await reader.next();
  await room;
  expect(hasRoom).toBe(true);
});

function called(call_id: string, args: unknown): OutsideEvent {
  return { kind: "called", call_id, tool: "t", args };
}

function wants(id: string, after: string): OutsideEvent {
  return { kind: "asked_permission", id, tool: "edit", args: null, changes: [{ path: "a.md", before: null, after }] };
}
