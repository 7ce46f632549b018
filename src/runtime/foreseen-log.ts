import type { Fact } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";
import type { RecentFacts } from "./recent-facts.ts";

/**
 * The same log; whoever decides hears of each fact as soon as it has its number, before it is on disk. So decisions do
 * not contradict each other; what follows from a fact still waits for `subscribe`. What is still in memory is read there.
 */
export function foreseen(log: AgentLog, hear: (fact: Fact) => void, recent: Pick<RecentFacts, "read">): AgentLog {
  return {
    id: log.id,
    dir: log.dir,
    get seq() {
      return log.seq;
    },
    append(batch) {
      const appended = log.append(batch);
      for (const fact of appended.facts) hear(fact);
      return appended;
    },
    follow: (after, signal) => log.follow(after, signal),
    subscribe: (listener) => log.subscribe(listener),
    read: async (range) => recent.read(range) ?? log.read(range),
    conversation: (file) => log.conversation(file),
    snapshot: (name, version) => log.snapshot(name, version),
    saveSnapshot: (name, version, seq, state) => log.saveSnapshot(name, version, seq, state),
    close: () => log.close(),
  };
}
