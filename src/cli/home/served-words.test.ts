import { expect, test } from "vitest";
import type { Fact, NewFact, StoredEntry, Usage } from "../../protocol/index.ts";
import { ServedWords } from "./served-words.ts";

const usage: Usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
const ann = { worker_id: "ann", node_id: "node-1" as const };
const spends = { model: "x/y", usage, cost_usd: 0, finish: "stop" };
const spawned: NewFact = {
  type: "worker.spawned",
  data: { run_id: "run-1", worker_id: "ann", name: "Ann", kind: "harnessed", model: "x/y", identity: "" },
};
const responded = (turn: number): NewFact => ({ type: "model.responded", data: { ...ann, ...spends, turn, ms: 1 } });

test("who looks on from the middle of a turn hears it whole at its end, and the next ones as they are said", async () => {
  const look = looking(["One two.", "Three four.", "Five six."]);
  look.hears("two.", 1);
  await look.sees(1, spawned);
  await look.sees(2, responded(1));
  look.hears("Three ", 2);
  look.hears("four.", 2);
  await look.sees(3, responded(2));
  look.hears("Five", 3);
  await look.sees(4, responded(3));
  expect(look.shown).toEqual([1, "One two.", 2, "Three ", "four.", 3, "Five", " six.", 4]);
});

test("words that are ahead of the facts wait for them, and words of a reply that was shown are not shown again", async () => {
  const look = looking(["One.", "Two.", "Three.", "Four."]);
  look.hears("One.", 1);
  await look.sees(1, spawned);
  await look.sees(2, responded(1));
  look.hears("Two.", 2);
  look.hears("Three.", 3);
  await look.sees(3, responded(2));
  await look.sees(4, responded(3));
  await look.sees(5, responded(4));
  look.hears("Four.", 4);
  expect(look.shown).toEqual([1, "One.", 2, "Two.", 3, "Three.", 4, "Four.", 5]);
});

test("where words were missed in the middle, the reply is shown whole, on lines of its own", async () => {
  const look = looking(["One.", "Two three four."]);
  look.hears("One.", 1);
  await look.sees(1, spawned);
  await look.sees(2, responded(1));
  look.hears("Two four.", 2);
  await look.sees(3, responded(2));
  expect(look.shown).toEqual([1, "One.", 2, "Two four.", "\nTwo three four.", 3]);
});

/** Ann's conversation has these replies, each dated like the fact that it is told with. */
function looking(replies: string[]) {
  const entries = replies.map(
    (text, at): StoredEntry => ({
      ...{ role: "assistant", seq: at + 1, ts: at + 2, content: [{ type: "text", text }] },
      ...spends,
    }),
  );
  const words = new ServedWords({ entriesBefore: async () => ({ from: 1, entries }) }, () => ({}));
  const shown: (string | number)[] = [];
  words.listener = ({ text }) => shown.push(text);
  return {
    shown,
    hears: (text: string, after: number) => words.hear({ ...ann, kind: "text", text }, after),
    async sees(seq: number, what: NewFact) {
      const fact = { seq, ts: seq, agent_id: "agent-test", ...what } as Fact;
      await words.prepare(fact);
      words.meet(fact);
      shown.push(seq);
      await Promise.resolve();
    },
  };
}
