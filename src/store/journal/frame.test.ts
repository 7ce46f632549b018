import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameWriter } from "./frame.ts";
import { scanJournal, withoutRoom } from "./recovery.ts";

type Write = { path: string; offset: number; heads: string[] }[];

const writes = fc.array(
  fc.array(
    fc.record({
      path: fc.constantFrom(
        "agents/agent-abcd/events.jsonl",
        "agents/agent-abcd/conversation.jsonl",
        "agents/é/x.jsonl",
      ),
      offset: fc.nat(),
      heads: fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  { minLength: 1, maxLength: 5 },
);

function journalOf(list: Write[]): { journal: Buffer; ends: number[] } {
  const writer = new FrameWriter();
  const frames = list.map((write, index) => {
    for (const { path, offset, heads } of write) writer.add(path, offset, heads);
    const frame = Buffer.from(writer.finish(index + 1));
    writer.reset();
    return frame;
  });
  let end = 0;
  return { journal: Buffer.concat(frames), ends: frames.map((frame) => (end += frame.length)) };
}

function numbersIn(journal: Buffer): number[] {
  return [...scanJournal(withoutRoom(journal))].flatMap((found) =>
    found.kind === "frame" ? [found.frame.number] : [],
  );
}

test("a journal gives back every write, each line where it belongs, and takes room for the end", () => {
  fc.assert(
    fc.property(writes, fc.nat(10_000), (list, room) => {
      const { journal } = journalOf(list);
      const found = [...scanJournal(withoutRoom(Buffer.concat([journal, Buffer.alloc(room)])))];
      const segments = found.map(
        (one) => one.kind === "frame" && one.frame.segments.map(({ path, offset }) => ({ path, offset })),
      );
      expect(segments).toEqual(list.map((write) => write.map(({ path, offset }) => ({ path, offset }))));
    }),
  );
});

test("a journal cut anywhere gives the writes that are whole and no other", () => {
  fc.assert(
    fc.property(writes, fc.double({ min: 0, max: 1, noNaN: true }), (list, where) => {
      const { journal, ends } = journalOf(list);
      const cut = Math.floor(where * journal.length);
      expect(numbersIn(journal.subarray(0, cut))).toEqual(
        ends.flatMap((end, index) => (end <= cut ? [index + 1] : [])),
      );
    }),
  );
});

test("a flipped byte costs the write it is in and no other", () => {
  fc.assert(
    fc.property(
      writes,
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.integer({ min: 1, max: 255 }),
      (list, where, flip) => {
        const { journal, ends } = journalOf(list);
        const at = Math.floor(where * journal.length);
        const hit = ends.findIndex((end) => at < end) + 1;
        journal[at] = (journal[at] ?? 0) ^ flip;
        expect(numbersIn(journal)).toEqual(list.map((_, index) => index + 1).filter((number) => number !== hit));
      },
    ),
  );
});

test("an older write that lies behind a newer one is a leftover, not a write", () => {
  const { journal, ends } = journalOf([
    [{ path: "a", offset: 0, heads: ["one"] }],
    [{ path: "a", offset: 9, heads: ["two"] }],
  ]);
  const first = journal.subarray(0, ends[0]);
  const second = journal.subarray(ends[0]);
  expect(numbersIn(Buffer.concat([second, first]))).toEqual([2]);
});
