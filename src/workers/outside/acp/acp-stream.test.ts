import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { EventQueue } from "../session/event-queue.ts";
import { linesOf } from "../session/output-lines.ts";
import type { OutsideEvent } from "../session/session.ts";
import { messagesOf } from "./acp-stream.ts";

const delta = (text: string): OutsideEvent => ({ kind: "delta", of: "text", text });

test("nothing is read from a program while its events have no reader", async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const ended = new Promise<never>(() => {});
  const running = { pid: 1, stdin, stdout, stderr: new PassThrough(), ended, stop: async () => {} };
  const reader = Promise.withResolvers<void>();
  const heard: string[] = [];
  const { readable } = messagesOf(running, {
    room: () => reader.promise,
    note: (text) => heard.push(text),
    notified: (method) => heard.push(method),
  });
  const answer = readable.getReader().read();
  for (let nth = 0; nth < 100; nth++) stdout.write(`{"jsonrpc":"2.0","method":"update-${nth}"}\n`);
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  expect(heard).toEqual([]);

  stdout.end('nonsense\n{"jsonrpc":"2.0","id":7,"method":"ask"}\n');
  reader.resolve();
  expect(await answer).toEqual({ done: false, value: { jsonrpc: "2.0", id: 7, method: "ask" } });
  expect(heard).toHaveLength(101);
});

test("who brings events waits until the reader has caught up, or nobody is waited for any more", async () => {
  const queue = new EventQueue();
  const states: string[] = [];
  for (let nth = 0; nth < 3000; nth++) queue.push(delta(`${nth}`));
  void queue.room().then(() => states.push("room"));
  await setImmediate();
  expect(states).toEqual([]);
  const events = queue[Symbol.asyncIterator]();
  for (let nth = 0; nth < 2500; nth++) await events.next();
  await setImmediate();
  expect(states).toEqual(["room"]);

  for (let nth = 0; nth < 3000; nth++) queue.push(delta(`${nth}`));
  void queue.room().then(() => states.push("open"));
  queue.stopWaiting();
  await setImmediate();
  expect(states).toEqual(["room", "open"]);
});

test("the last event is the last, and each is over when the next is asked for", async () => {
  const over: OutsideEvent[] = [];
  const queue = new EventQueue(async (event) => {
    await setImmediate();
    over.push(event);
  });
  const last: OutsideEvent = { kind: "exited", code: 0, signal: null, exceeded: null };
  queue.push(delta("a"), delta("b"));
  queue.end(last);
  queue.push(delta("too late"));
  const read: OutsideEvent[] = [];
  for await (const event of queue) {
    expect(over).toEqual(read);
    read.push(event);
  }
  expect(read).toEqual([delta("a"), delta("b"), last]);
});

test("lines come whole, however they are cut, and one that is too long costs no memory", async () => {
  const stream = new PassThrough();
  for (const part of ["on", "e\r\ntw", "o\n", "x".repeat(50), "y".repeat(60), "\nth", "ree"]) stream.write(part);
  stream.end();
  const lines: (string | null)[] = [];
  for await (const line of linesOf(stream, 100)) lines.push(line);
  expect(lines).toEqual(["one", "two", null, "three"]);
});
