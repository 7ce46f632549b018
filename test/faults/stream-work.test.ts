import { Readable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { createEventReader } from "../../src/models/wire/sse.ts";
import { createTagReader } from "../../src/models/wire/tag-reader.ts";
import { printedBy } from "../../src/workers/outside/session/output-lines.ts";

/**
 * What comes in small pieces costs as much as what comes at once. Counted, not timed: every character that is searched,
 * in the only method that the readers search with.
 */
const PIECE = 8;
const SIZE = 64 * 1024;

afterEach(() => vi.restoreAllMocks());

test("one long line of server-sent events in small pieces is searched once", () => {
  const piece = Buffer.from("x".repeat(PIECE));
  const reader = createEventReader();
  const searched = countSearched();
  for (let sent = 0; sent < SIZE; sent += PIECE) reader.push(piece, () => {});
  reader.push(Buffer.from("\n\n"), () => {});
  expect(searched()).toBeLessThan(4 * SIZE);
});

test("a long event of many short lines keeps what it was sent and no more", () => {
  const line = Buffer.from("data: x\n");
  const reader = createEventReader();
  const heard: string[] = [];
  const onData = (data: string) => heard.push(data);
  for (let count = 0; count < 1000; count++) reader.push(line, onData);
  const before = reader.unfinished;
  reader.push(Buffer.from("\n"), onData);
  expect([before, reader.unfinished, heard.map(({ length }) => length)]).toEqual([8000, 0, [1999]]);
});

test("a long call between tags in small pieces is searched once", () => {
  const reader = createTagReader("call");
  const searched = countSearched();
  reader.push("<call>");
  for (let sent = 0; sent < SIZE; sent += PIECE) reader.push("x".repeat(PIECE));
  const pieces = reader.push("</call>");
  expect(searched()).toBeLessThan(8 * SIZE);
  expect(pieces.map(({ type, text }) => [type, text.length])).toEqual([["call", SIZE]]);
});

test("a long line that a program prints in small pieces is searched once", async () => {
  const pieces = Array.from({ length: SIZE / PIECE }, () => Buffer.from("x".repeat(PIECE)));
  const searched = countSearched();
  const printed: number[] = [];
  for await (const line of printedBy(Readable.from([...pieces, Buffer.from("\n")]), 2 * SIZE))
    printed.push(line.length);
  expect(searched()).toBeLessThan(4 * SIZE);
  expect(printed).toEqual([SIZE + 1]);
});

function countSearched(): () => number {
  const real = String.prototype.indexOf;
  let count = 0;
  vi.spyOn(String.prototype, "indexOf").mockImplementation(function (this: string, wanted: string, from = 0) {
    const at = real.call(this, wanted, from);
    count += (at < 0 ? this.length : at + wanted.length) - from;
    return at;
  });
  return () => count;
}
