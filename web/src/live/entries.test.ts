import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EntryBook } from "./entries.ts";

/** What the server has of the conversation, and what was asked of it. */
let written: { seq: number; ts: number; role: "assistant"; content: { type: "text"; text: string }[] }[] = [];
let asked: string[] = [];
let held: Promise<void> = Promise.resolve();

beforeEach(() => {
  written = [];
  asked = [];
  held = Promise.resolve();
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => queueMicrotask(run));
  vi.stubGlobal("fetch", async (path: string) => {
    const query = new URL(path, "http://127.0.0.1").searchParams;
    asked.push(query.get("before") ?? "newest");
    const before = Number(query.get("before") ?? Number.POSITIVE_INFINITY);
    const entries = written.filter(({ seq }) => seq < before).slice(-2);
    await held;
    return new Response(JSON.stringify({ entries }));
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test("what is wished for while another page is read is read too", async () => {
  const gate = Promise.withResolvers<void>();
  held = gate.promise;
  written.push(says(1));
  const book = new EntryBook("agent-1", "alice");
  book.want(1);
  await expect.poll(() => asked).toEqual(["newest"]);
  written.push(says(2));
  book.want(2);
  gate.resolve();
  await expect
    .poll(() => [...book.words])
    .toEqual([
      [1, "word 1"],
      [2, "word 2"],
    ]);
});

test("what is not there any more is not asked for again and again", async () => {
  written.push(says(8), says(9));
  const book = new EntryBook("agent-1", "alice");
  book.want(3);
  await expect.poll(() => asked).toEqual(["newest", "8"]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual(["newest", "8"]);
});

function says(seq: number) {
  return { seq, ts: seq, role: "assistant" as const, content: [{ type: "text" as const, text: `word ${seq}` }] };
}
