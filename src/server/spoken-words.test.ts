import { expect, test } from "vitest";
import type { Fact, StoredEntry } from "../protocol/index.ts";
import { spokenWordsOf } from "./spoken-words.ts";

test.each([1000, 4000])(
  "all the words of %i replies, page by page: no entry is read more than a few times",
  async (many) => {
    const { entries, facts } = conversation(many);
    const { log, work } = counted(entries);
    const heard: (string | undefined)[] = [];
    for (let after = 0; after < facts.length; after += 100) {
      const words = await spokenWordsOf(facts.slice(after, after + 100), log, () => ({}));
      heard.push(...facts.slice(after, after + 100).map(({ seq }) => words.get(seq)?.text));
    }
    expect(heard).toEqual(facts.map(({ seq }) => `Reply ${seq}`));
    expect(work.entries / entries.length).toBeLessThan(1.5);
  },
);

test("two replies of one moment are told apart by their order, and one without words has none", async () => {
  const { entries, facts } = conversation(3);
  for (const each of [...entries, ...facts]) each.ts = 5;
  Object.assign(entries[3] ?? {}, { content: [] });
  const words = await spokenWordsOf(facts, counted(entries).log, () => ({}));
  expect([...words].map(([seq, { text }]) => [seq, text])).toEqual([
    [1, "Reply 1"],
    [3, "Reply 3"],
  ]);
});

test("a damaged entry hides no other", async () => {
  const { entries, facts } = conversation(200);
  const { log } = counted(entries.filter(({ seq }) => seq < 150 || seq > 250 || seq === 240));
  const words = await spokenWordsOf(facts.slice(60), log, () => ({}));
  expect([...words.keys()]).toEqual(
    facts.map(({ seq }) => seq).filter((seq) => seq > 60 && (seq * 2 < 150 || seq * 2 > 250 || seq * 2 === 240)),
  );
});

test("a clock that was set back hides no reply", async () => {
  const { entries, facts } = conversation(200);
  for (const each of [...entries.slice(200), ...facts.slice(100)]) each.ts -= 600;
  const words = await spokenWordsOf(facts.slice(90, 110), counted(entries).log, () => ({}));
  expect([...words.keys()]).toEqual(facts.slice(90, 110).map(({ seq }) => seq));
});

/** A question and a reply by turns, and the fact that ends each reply. */
function conversation(replies: number): { entries: StoredEntry[]; facts: Fact[] } {
  const numbers = Array.from({ length: replies }, (_, index) => index + 1);
  const said = (text: string) => [{ type: "text", text }];
  return {
    entries: numbers.flatMap((n) => [
      { seq: 2 * n - 1, ts: 10 * n - 5, role: "user", content: said(`Question ${n}`) },
      { seq: 2 * n, ts: 10 * n, role: "assistant", content: said(`Reply ${n}`) },
    ]) as unknown as StoredEntry[],
    facts: numbers.map((n) => ({
      seq: n,
      ts: 10 * n,
      type: "model.responded",
      data: { worker_id: "coordinator", node_id: null },
    })) as unknown as Fact[],
  };
}

/** Those that are not there were damaged. */
function counted(entries: readonly StoredEntry[]) {
  const work = { entries: 0 };
  const last = entries.at(-1)?.seq ?? 0;
  const entriesBefore = async (_: string, limit: number, before = Number.POSITIVE_INFINITY) => {
    const end = Math.min(before, last + 1);
    const from = Math.max(1, end - limit);
    const read = entries.filter(({ seq }) => seq >= from && seq < end);
    work.entries += read.length;
    return { from, entries: read };
  };
  return { log: { entriesBefore }, work };
}
