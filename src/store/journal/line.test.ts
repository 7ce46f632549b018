import fc from "fast-check";
import { expect, test } from "vitest";
import type { Entry, Fact } from "../../protocol/index.ts";
import { decodeLine, entryHead, factHead, lineBytes } from "./line.ts";

/** Any text a program can hold: lone surrogates, U+2028, NUL, newlines, emoji. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit))).map((units) => units.join("")),
  fc.constantFrom("\u2028\u2029", '","crc":"00000000"}', ',"v":1,"crc":"', "\ud800", "\r\n\0", "é".repeat(70_000)),
);

test("whatever an entry says comes back unchanged, in one line that any JSON reader reads", () => {
  fc.assert(
    fc.property(anyText, fc.nat(), (content, seq) => {
      const entry: Entry = { role: "user", from: "human", content };
      const bytes = lineBytes(entryHead(seq, 1700000000.123, entry));
      const text = bytes.toString();
      expect(text.indexOf("\n")).toBe(text.length - 1);
      expect(JSON.parse(text)).toMatchObject({ seq, ts: 1700000000.123, ...entry, v: 1 });
      const line = decodeLine(bytes, 0, bytes.length - 1);
      expect(line && { seq: line.seq, version: line.version, record: JSON.parse(line.json) }).toEqual({
        seq,
        version: 1,
        record: { seq, ts: 1700000000.123, ...entry },
      });
    }),
  );
});

test("a fact is written as the contract says", () => {
  const fact: Fact = { seq: 7, type: "agent.stopped", agent_id: "agent-abcd", ts: 1.5, data: { by: "human" } };
  expect(lineBytes(factHead(fact)).toString()).toBe(
    '{"seq":7,"type":"agent.stopped","agent_id":"agent-abcd","ts":1.5,"data":{"by":"human"},"v":1,"crc":"0ba9727f"}\n',
  );
});

test("any flipped bit is noticed", () => {
  const bytes = lineBytes(entryHead(12, 1.25, { role: "user", from: "human", content: "wörds" }));
  for (let bit = 0; bit < (bytes.length - 1) * 8; bit++) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(decodeLine(flipped, 0, flipped.length - 1), `bit ${bit}`).toBeUndefined();
  }
});

test("any part of a line is no line", () => {
  const bytes = lineBytes(entryHead(12, 1.25, { role: "user", from: "human", content: 'a "quoted" {"seq":1}' }));
  for (let start = 0; start < bytes.length; start++) {
    for (let end = start; end < bytes.length; end++) {
      if (start === 0 && end === bytes.length - 1) continue;
      expect(decodeLine(bytes, start, end), `${start} to ${end}`).toBeUndefined();
    }
  }
});

test("an entry that was read and is appended again gets its new numbers", () => {
  const stored = { seq: 3, ts: 9, role: "summary", content: "so far" } as const;
  expect(entryHead(8, 10, stored)).toBe('{"seq":8,"ts":10,"role":"summary","content":"so far","v":1');
});
