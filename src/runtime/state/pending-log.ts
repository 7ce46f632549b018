import type { Fact } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";
import { currentActor, onItsOwn } from "./acting.ts";
import type { RecentFacts } from "./recent-facts.ts";

export interface PendingLog extends AgentLog {
  /** Resolves when everything appended so far is on disk: for those who are told that something was decided before. */
  drained(): Promise<void>;
}

/**
 * The same log, but `hear` is called with each fact as soon as it has its number, before it is on disk, so that
 * decisions do not contradict each other. Reactions to a fact still wait for `subscribe`. Facts that are still in
 * memory are read there. If the disk refuses a write, all pending facts are void: that is reported once, before any
 * waiting caller learns of it.
 */
export function pendingLog(
  log: AgentLog,
  { hear, refused }: { hear(fact: Fact): void; refused(error: unknown): void },
  recent: Pick<RecentFacts, "read">,
): PendingLog {
  /** What is refused together was appended between two refusals. */
  let refusals = 0;
  let latest = Promise.resolve();
  return {
    drained: () => latest,
    id: log.id,
    dir: log.dir,
    get seq() {
      return log.seq;
    },
    append(batch) {
      const actor = currentActor();
      const facts = actor && batch.facts?.map((fact) => ({ ...fact, actor }));
      const appended = log.append(facts ? { ...batch, facts } : batch);
      for (const fact of appended.facts) hear(fact);
      latest = appended.durable;
      const before = refusals;
      appended.durable.catch((error: unknown) => {
        if (before !== refusals) return;
        refusals += 1;
        refused(error);
      });
      return appended;
    },
    follow: (after, signal) => log.follow(after, signal),
    // What follows from a fact is the agent's own doing, no matter whose command was being carried out just then.
    subscribe: (listener, of) => log.subscribe((fact) => onItsOwn(() => listener(fact)), of),
    read: async (range) => recent.read(range) ?? log.read(range),
    conversation: (file) => log.conversation(file),
    entriesBefore: (file, limit, before) => log.entriesBefore(file, limit, before),
    snapshot: (name, version) => log.snapshot(name, version),
    bytesToRead: (name, version) => log.bytesToRead(name, version),
    saveSnapshot: (name, version, seq, state) => log.saveSnapshot(name, version, seq, state),
    close: () => log.close(),
  };
}
