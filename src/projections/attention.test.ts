import { expect, test } from "vitest";
import type { Fact, NewFact } from "../protocol/index.ts";
import { applyToAttention, bornAwake } from "./attention.ts";

test("a message that does not get through to the human is no sign of life: who waits for idleness still finds it", () => {
  const attention = bornAwake({ seq: 1, ts: 10 });
  const tried = { channel: "pager", of: "run-1", fact: 1, why: "it answered 500", attempts: 1 };
  const facts: NewFact[] = [
    { type: "channel.delayed", data: { ...tried, retry_in_ms: 3_600_000 } },
    { type: "channel.failed", data: tried },
  ];
  for (const [at, fact] of facts.entries())
    applyToAttention(attention, { seq: at + 2, ts: 3600 * (at + 1), agent_id: "agent-abcd", ...fact } as Fact);
  expect(attention).toEqual(bornAwake({ seq: 1, ts: 10 }));
});
