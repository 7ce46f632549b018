import { expect, test } from "vitest";
import type { Fact } from "../../protocol/index.ts";
import { RecentFacts } from "./recent-facts.ts";

test("what came lately is read from memory, page by page, just as the log would tell it", () => {
  const recent = remembering(numbers(5, 9));

  expect([
    seqs(recent.read({ after: 4, limit: 10 })),
    seqs(recent.read({ after: 6, limit: 2 })),
    seqs(recent.read({ after: 9, limit: 10 })),
    seqs(recent.read({ after: 4, limit: 0 })),
  ]).toEqual([[5, 6, 7, 8, 9], [7, 8], [], []]);
});

test("what is further back, behind a hole, or forgotten is for the log to tell", () => {
  const recent = remembering(numbers(5, 9));
  const holed = remembering([1, 2, 3, 5, 6]);
  const long = remembering(numbers(1, 2500));
  const cleared = remembering([1, 2]);
  cleared.clear();

  expect([
    seqs(recent.read({ after: 3, limit: 10 })),
    seqs(holed.read({ after: 2, limit: 10 })),
    seqs(holed.read({ after: 4, limit: 10 })),
    seqs(long.read({ after: 100, limit: 1 })),
    seqs(long.read({ after: 1500, limit: 1 })),
    seqs(cleared.read({ after: 0, limit: 10 })),
    seqs(new RecentFacts().read({ after: 0, limit: 10 })),
  ]).toEqual(["log", "log", [5, 6], "log", [1501], "log", "log"]);
});

function remembering(seqs: number[]): RecentFacts {
  const recent = new RecentFacts();
  for (const seq of seqs) recent.add(fact(seq));
  return recent;
}

function fact(seq: number): Fact {
  return { seq, type: "agent.resumed", agent_id: "agent-aaaa", ts: 0, data: {} };
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

function seqs(facts: Fact[] | undefined): number[] | "log" {
  return facts?.map((each) => each.seq) ?? "log";
}
