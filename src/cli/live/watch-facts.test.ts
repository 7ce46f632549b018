import { expect, test } from "vitest";
import type { Fact } from "../../protocol/index.ts";
import { watchFacts } from "./watch-facts.ts";

const fact = (seq: number): Fact => ({ seq, type: "agent.resumed", agent_id: "agent-test", ts: 0, data: {} });

test("what was missed comes first, then what came meanwhile, then what comes: each once, in order", async () => {
  const listeners = new Set<(fact: Fact) => void>();
  const emit = (seq: number) => listeners.forEach((listener) => void listener(fact(seq)));
  const page = Promise.withResolvers<Fact[]>();
  const seen: number[] = [];
  const log = {
    subscribe(listener: (fact: Fact) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    read: () => page.promise,
  };

  const watching = watchFacts(log, 2, ({ seq }) => seen.push(seq));
  emit(4); // on disk before the page is read, so the page has it too
  emit(5);
  page.resolve([fact(3), fact(4)]);
  const end = await watching;
  emit(6);
  end();
  emit(7);
  expect(seen).toEqual([3, 4, 5, 6]);
});
