import fc from "fast-check";
import { expect, test } from "vitest";
import { MESSAGE_STATUSES, MESSAGE_TYPES, type MessageHeader } from "../../protocol/index.ts";
import { format, MAX_HEADER, parse, titleOf } from "./message-file.ts";
import { fileNameOf, sanitized } from "./message-names.ts";

const words = fc.oneof(
  fc.string({ minLength: 1, maxLength: 200 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 60 }),
  fc.constantFrom(
    "a & b",
    "*x",
    "!tag",
    "#no",
    "- a",
    "a: b",
    "no",
    "---",
    "\u2028---\u2028",
    "\ud800",
    '"',
    "'",
    "\r\n",
    " a ",
  ),
);
/** Names of messages: never paths. */
const names = words.map((text) => text.replaceAll("/", "-"));
const headers: fc.Arbitrary<MessageHeader> = fc.record(
  {
    from: words,
    to: words,
    type: fc.constantFrom(...MESSAGE_TYPES),
    status: fc.constantFrom(...MESSAGE_STATUSES),
    "msg-id": fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$/),
    timestamp: fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map((date) => date.toISOString()),
    task: names,
    step: words,
    "in-reply-to": names,
  },
  { requiredKeys: ["from", "to", "type", "status"] },
);
const short = (header: MessageHeader) =>
  [header.from, header.to, header.step ?? "", header.task ?? ""].every(
    (value) => value.length <= 200 && !value.includes("\0"),
  );

test("MESSAGE-FILE-3: what is written is read back unchanged, whatever the words are", () => {
  fc.assert(
    fc.property(headers.filter(short), fc.string({ unit: "binary" }), (header, body) => {
      fc.pre(!body.includes("\0") && !Object.values(header).some((value) => value?.includes("\0")));
      expect(parse(format(header, body))).toEqual({ ok: true, header, body });
    }),
    { numRuns: 3_000 },
  );
});

test("the seed's example, by hand: comments, quotes, a BOM, Windows lines", () => {
  const text = [
    "\uFEFF---",
    "from: plan/lead # me",
    'to: "coder"',
    "type: 'ask'",
    "",
    "# a comment",
    "timestamp: 2025-10-17T10:00:00Z",
    "--- ",
    "# In which language?",
    "---",
  ].join("\r\n");
  expect(parse(text)).toEqual({
    ok: true,
    header: { from: "plan/lead", to: "coder", type: "ask", status: "pending", timestamp: "2025-10-17T10:00:00Z" },
    body: "# In which language?\r\n---",
  });
});

const START = "---\nfrom: a\nto: b\ntype: task\n";
test.each([
  ["", 'It has no header: the first line must be "---" and nothing else.'],
  ["---js\nprocess.exit(1)\n---\n", 'It has no header: the first line must be "---" and nothing else.'],
  [START, 'Its header is never closed by a second "---".'],
  [`${START}${"#".repeat(MAX_HEADER)}\n---\n`, "Its header has more than 65536 characters."],
  [`${START}to: c\n---\n`, 'Its header has "to" twice.'],
  [
    `${START}extra: 1\n---\n`,
    'Its header is wrong: there is no field "extra". Choose from: from, to, type, status, msg-id, timestamp, task, step, in-reply-to, thread, hops, turn.',
  ],
  [
    "---\nfrom: &x a\nto: b\ntype: task\n---\n",
    'Its header has no plain value for "from"; anchors, aliases, tags, blocks, lists and maps are not taken.',
  ],
  ["---\nfrom: a\n  deep: b\n---\n", 'Its header has a line that is not "name: value": "  deep: b"'],
  ["---\n---\n", "Its header has no fields."],
  [
    "---\nfrom: a\nto: b\ntype: rumour\n---\n",
    'Its header is wrong: "type": there is no rumour. Choose from: task, ask, ask-response, task-complete, error.',
  ],
  [`${START}---\n\0`, "It holds a NUL character, so it is not text."],
])("MESSAGE-FILE-2: no message, and why: %#", (text, reason) => {
  expect(parse(text)).toEqual({ ok: false, reason });
});

test("names: the seed's pattern with a counter, plain words, never empty", () => {
  const at = new Date(2026, 10, 15, 13, 7);
  expect([
    fileNameOf(at, 1, "Fix the Ünïcode bug / now!"),
    fileNameOf(at, 12, "漢字"),
    sanitized("--a--".repeat(40)).length <= 50,
    titleOf("\n\n## A title\nmore"),
  ]).toEqual(["2611151307-0001-fix-the-u-ni-code-bug-now.md", "2611151307-0012-message.md", true, "A title"]);
});

test("MESSAGE-FILE-2: headers that other YAML readers make something of are refused, with the reason; nothing in them is inherited", () => {
  const head = (line: string) => parse(`---\nfrom: human\nto: m\ntype: task\n${line}\n---\n\n# T\n`);
  for (const line of [
    ...["task: &a x", "task: *a", "<<: *a", "<<: {to: other}", "? task\n: x", "task: !!str x", "task: !!binary eA=="],
    ...["to: other", '"to": other', "to : other", "__proto__: x", "constructor: x", "toString: x"],
    ...["task: [a]", "task: {a: b}", "task: |\n  x", "task: >\n  x", "tаsk: x", "task: a\0b", "%YAML 1.2", "--- !x"],
    ...["hops: 99999999999999999999", "hops: -1", "hops: 0x10", "hops: 1e3", `task: ${"x".repeat(300)}`],
  ]) {
    const parsed = head(line);
    expect([line, parsed.ok]).toEqual([line, false]);
    expect(parsed.ok ? "" : parsed.reason).toMatch(/.{5,}/);
  }
  expect(Object.prototype).not.toHaveProperty("x");
  expect(head("status: pending").ok).toBe(true);
});
