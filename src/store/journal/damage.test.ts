import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { Entry } from "../../protocol/index.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { NewerVersionError } from "../errors.ts";
import { openStore } from "../open-store.ts";
import { lineBytes } from "./line.ts";

const ID = "agent-abcd";
const EVENTS = `agents/${ID}/events.jsonl`;
const TALK = `agents/${ID}/conversation.jsonl`;
const clock = { now: () => 1_700_000_000_000 };

test("a torn end is cut at the last whole record, kept aside, reported and said in the log", async () => {
  const home = await homeWith(3);
  const bytes = readFileSync(join(home, EVENTS));
  truncateSync(join(home, EVENTS), bytes.length - 20);
  const torn = bytes.subarray((bytes.length / 3) * 2, bytes.length - 20);

  const { facts, repairs } = await look(home);
  const repair = {
    file: EVENTS,
    what: "the end was torn and was cut at the last whole record",
    aside: expect.stringMatching(/^damaged\/agents~agent-abcd~events\.jsonl@\d+-[0-9a-f]{8}$/),
  };
  expect(repairs).toEqual([repair]);
  expect(facts.map(({ seq, type, data }) => [seq, type, data])).toEqual([
    [1, "agent.stopped", { by: "human 1" }],
    [2, "agent.stopped", { by: "human 2" }],
    [3, "log.repaired", repair],
  ]);
  expect(readFileSync(join(home, repairs[0]?.aside ?? ""))).toEqual(torn);
  expect(await look(home)).toEqual({ facts, entries: expect.anything(), repairs: [] });
});

test("zeros at the end, as some file systems leave them, are a torn end", async () => {
  const home = await homeWith(2);
  writeFileSync(join(home, TALK), Buffer.concat([readFileSync(join(home, TALK)), Buffer.alloc(5000)]));
  const { entries, repairs } = await look(home);
  expect(entries.map((entry) => entry.seq)).toEqual([1, 2]);
  expect(repairs.map(({ file }) => file)).toEqual([TALK]);
  expect(readFileSync(join(home, TALK), "utf8").split("\n").length).toBe(3);
  expect((await look(home)).repairs).toEqual([]);
});

test("a flipped byte in the middle costs that record, leaves its number empty, and is reported once", async () => {
  const home = await homeWith(3);
  flip(join(home, EVENTS), 200);
  const before = readFileSync(join(home, EVENTS), "utf8");
  const { facts, repairs } = await look(home);
  expect(facts.map(({ seq, type }) => [seq, type])).toEqual([
    [1, "agent.stopped"],
    [3, "agent.stopped"],
  ]);
  expect(repairs.map(({ file, what }) => [file, what])).toEqual([[EVENTS, "a record was damaged and is skipped"]]);
  expect(readFileSync(join(home, repairs[0]?.aside ?? ""), "utf8")).toBe(`${before.split("\n")[1]}\n`);
  // Nothing was rewritten; what was lost is said behind, and only the first time.
  expect(readFileSync(join(home, EVENTS), "utf8").startsWith(before)).toBe(true);
  const again = await look(home);
  expect(again.facts.map(({ seq, type }) => [seq, type])).toEqual([
    [1, "agent.stopped"],
    [3, "agent.stopped"],
    [4, "log.repaired"],
  ]);
  expect(await look(home)).toEqual(again);
});

test("a damaged last record loses its number for good: nobody gets it again", async () => {
  const home = await homeWith(3);
  const bytes = readFileSync(join(home, EVENTS));
  flip(join(home, EVENTS), bytes.length - 30);
  const { facts } = await look(home);
  expect(facts.map(({ seq, type }) => [seq, type])).toEqual([
    [1, "agent.stopped"],
    [2, "agent.stopped"],
    [4, "log.repaired"],
  ]);
});

test("whatever single byte is hit or wherever the file ends, all other records are there and appending works", async () => {
  const home = await homeWith(12);
  const whole = readFileSync(join(home, EVENTS));
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      async (at, flipped, cut) => {
        const hurt = cut ? whole.subarray(0, at) : Buffer.from(whole);
        if (!cut) hurt[at] = (hurt[at] ?? 0) ^ flipped;
        writeFileSync(join(home, EVENTS), hurt);
        const lost = whole.subarray(0, at).toString().split("\n").length;
        const expected = Array.from({ length: 12 }, (_, index) => index + 1).filter((seq) =>
          cut ? seq < lost : !isHit(whole, seq, at),
        );
        const { facts } = await look(home, 1);
        const kept = facts.filter((fact) => fact.type === "agent.stopped" && fact.data.by.startsWith("human"));
        expect(kept.map((fact) => fact.seq)).toEqual(expected);
        expect(facts.at(-1)).toMatchObject({ type: "agent.stopped", data: { by: "afterwards" } });
      },
    ),
    { numRuns: 60 },
  );
});

test("a record of a later version: the agent is refused, nothing is rewritten", async () => {
  const home = await homeWith(1);
  const later = lineBytes('{"seq":2,"type":"node.dreamt","agent_id":"agent-abcd","ts":1,"data":{},"v":2');
  writeFileSync(join(home, EVENTS), Buffer.concat([readFileSync(join(home, EVENTS)), later]));
  const before = readFileSync(join(home, EVENTS));
  await expect(look(home)).rejects.toThrow(NewerVersionError);
  expect(readFileSync(join(home, EVENTS))).toEqual(before);
});

test("a fact of an unknown type is passed on untouched", async () => {
  const home = await homeWith(1);
  const unknown = lineBytes(
    '{"seq":2,"type":"node.dreamt","agent_id":"agent-abcd","ts":1,"data":{"of":["sheep"]},"more":1,"v":1',
  );
  writeFileSync(join(home, EVENTS), Buffer.concat([readFileSync(join(home, EVENTS)), unknown]));
  const { facts, repairs } = await look(home);
  expect(facts[1]).toEqual({ seq: 2, type: "node.dreamt", agent_id: ID, ts: 1, data: { of: ["sheep"] }, more: 1 });
  expect(repairs).toEqual([]);
});

test("journal records whose file is gone are set aside, and the rest of the home goes on", async () => {
  const home = await homeWith(2);
  const store = await openStore({ root: home, clock });
  const log = await store.open(ID);
  await log.append({
    facts: [{ type: "agent.paused", data: {} }],
    entries: { file: "conversation.jsonl", entries: [words(3)] },
  }).durable;
  // As a crash would leave it, but for the facts, which somebody deleted.
  const left = await temporaryHome();
  onTestFinished(() => left.remove());
  cpSync(home, left.path, { recursive: true });
  await store.close();
  truncateSync(join(left.path, EVENTS), 0);
  const { facts, entries, repairs } = await look(left.path);
  expect(facts).toEqual([]);
  expect(entries.map((entry) => entry.seq)).toEqual([1, 2, 3]);
  expect(repairs.map(({ file, what }) => [file, what])).toEqual([
    [EVENTS, "the file was shorter than the journal knew it; these records had no place"],
  ]);
  expect(readFileSync(join(left.path, repairs[0]?.aside ?? ""), "utf8")).toContain('"type":"agent.paused"');
});

test("an unfinished write at the end of a journal is kept aside and reported; nobody had been told of it", async () => {
  const home = await homeWith(1);
  mkdirSync(join(home, "journal"), { recursive: true });
  writeFileSync(join(home, "journal/000000000009.journal"), Buffer.from([0xff, 0x41, 0x47, 0x4a, 1, 2, 3, 0, 0, 0]));
  const { facts, repairs } = await look(home);
  expect(facts.length).toBe(1);
  expect(repairs).toEqual([
    {
      file: "journal/000000000009.journal",
      what: "the last write was not finished; nothing of it had been acknowledged",
      aside: expect.stringContaining("damaged/journal~000000000009.journal@0-"),
    },
  ]);
  expect(readdirSync(join(home, "journal"))).toEqual([]);
  expect(existsSync(join(home, repairs[0]?.aside ?? ""))).toBe(true);
});

const words = (number: number): Entry => ({ role: "user", from: "human", content: `words ${number}` });

async function homeWith(count: number): Promise<string> {
  const home = await temporaryHome();
  onTestFinished(() => home.remove());
  const store = await openStore({ root: home.path, clock });
  const log = await store.create(ID);
  for (let number = 1; number <= count; number++) {
    log.append({
      facts: [{ type: "agent.stopped", data: { by: `human ${number}` } }],
      entries: { file: "conversation.jsonl", entries: [words(number)] },
    });
  }
  await store.close();
  return home.path;
}

async function look(root: string, appends = 0) {
  const store = await openStore({ root, clock });
  try {
    const log = await store.open(ID);
    for (let count = 0; count < appends; count++)
      await log.append({ facts: [{ type: "agent.stopped", data: { by: "afterwards" } }] }).durable;
    const facts = await log.read({ after: 0, limit: 1000 });
    return { facts, entries: await log.conversation("conversation.jsonl"), repairs: [...store.repairs] };
  } finally {
    await store.close();
  }
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

/** Whether a byte belongs to the line with this number; a lost newline costs both lines it stood between. */
function isHit(whole: Buffer, seq: number, at: number): boolean {
  const lines = whole.toString("latin1").split("\n");
  let start = 0;
  for (let index = 0; index < seq - 1; index++) start += (lines[index]?.length ?? 0) + 1;
  const end = start + (lines[seq - 1]?.length ?? 0);
  return (at >= start && at <= end) || at === start - 1;
}

test("a line deleted from the middle is reported once, with what to do", async () => {
  const home = await homeWith(4);
  edit(join(home, EVENTS), (lines) => lines.filter((_, at) => at !== 1 && at !== 2));
  edit(join(home, TALK), (lines) => lines.filter((_, at) => at !== 0));
  const what = (which: string) =>
    `${which} missing (deleted by hand, or lost by the disk); restore the file from a backup if they matter`;

  const { facts, entries, repairs } = await look(home);
  expect(repairs.map(({ file, what }) => [file, what]).sort()).toEqual([
    [TALK, what("record 1 is")],
    [EVENTS, what("records 2 to 3 are")],
  ]);
  expect([facts.map(({ seq }) => seq), entries.map(({ seq }) => seq)]).toEqual([
    [1, 4],
    [2, 3, 4],
  ]);
  const again = await look(home);
  expect(again.facts.map(({ seq, type }) => [seq, type])).toEqual([
    [1, "agent.stopped"],
    [4, "agent.stopped"],
    [5, "log.repaired"],
    [6, "log.repaired"],
  ]);
  expect(again.repairs).toEqual([]);
});

test("a line that is there twice counts once, and is reported", async () => {
  const home = await homeWith(3);
  edit(join(home, EVENTS), ([a = "", b = "", c = ""]) => [a, b, b, c, a]);
  edit(join(home, TALK), ([a = "", b = "", c = ""]) => [a, b, c, c]);

  const { facts, entries, repairs } = await look(home);
  expect([facts.map(({ seq }) => seq), entries.map(({ seq }) => seq)]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect(repairs.map(({ file, what }) => [file, what.split(";", 1)[0]])).toEqual([
    [EVENTS, "a record is there twice, or out of order"],
    [EVENTS, "a record is there twice, or out of order"],
    [TALK, "a record is there twice, or out of order"],
  ]);
  // No number is given out again, although the last line has a low one.
  const again = await look(home);
  expect(again.facts.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(again.repairs.length).toBe(3);
});

function edit(path: string, change: (lines: string[]) => string[]): void {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  writeFileSync(path, `${change(lines).join("\n")}\n`);
}
