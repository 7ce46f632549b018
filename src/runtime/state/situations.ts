import {
  AGENT_SUMMARY_VERSION,
  apply,
  begin,
  SITUATION_VERSION,
  type Situation,
  summarise,
  withOwnKeys,
} from "../../projections/index.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { AgentLog, Store } from "../../store/store.ts";

/** The newest snapshot plus the facts since. */
export async function situationOf(log: AgentLog): Promise<Situation> {
  const snapshot = await log.snapshot<Situation>("situation", SITUATION_VERSION);
  let now = snapshot && withOwnKeys(snapshot.state);
  for (let after = snapshot?.seq ?? 0; ; ) {
    const page = await log.read({ after, limit: PAGE });
    for (const fact of page) {
      if (now) apply(now, fact);
      else now = begin(fact);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) break;
    after = last.seq;
  }
  if (!now) throw new Error(`The log of ${log.id} is empty.`);
  return now;
}

/** They are applied in one go, in which nobody else has a turn. */
const PAGE = 500;

/** For the next time it is opened or listed. Disposable: a failed write loses nothing. */
export async function saveSituation(log: Pick<AgentLog, "saveSnapshot">, now: Situation): Promise<void> {
  await log.saveSnapshot("situation", SITUATION_VERSION, now.seq, now);
  await log.saveSnapshot("summary", AGENT_SUMMARY_VERSION, now.seq, summarise(now));
}

/** Every readable agent of the home, newest first; the others with the reason. */
export async function allSituations(
  store: Store,
): Promise<{ situations: Situation[]; unreadable: { id: AgentId; why: string }[] }> {
  const situations: Situation[] = [];
  const unreadable: { id: AgentId; why: string }[] = [];
  for (const id of await store.agents()) {
    try {
      situations.push(await situationOf(await store.open(id)));
    } catch (error) {
      unreadable.push({ id, why: error instanceof Error ? error.message : String(error) });
    }
  }
  situations.sort((a, b) => b.agent.created_ts - a.agent.created_ts);
  return { situations, unreadable };
}
