import type { Fact } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";

/** The team was at work before anybody could watch: first the facts that were missed, then new ones, each once. */
export async function watchFacts(
  log: Pick<AgentLog, "read" | "subscribe">,
  after: number,
  listener: (fact: Fact) => void,
): Promise<() => void> {
  let seen = after;
  let waiting: Fact[] | undefined = [];
  const show = (fact: Fact) => {
    if (fact.seq <= seen) return;
    seen = fact.seq;
    listener(fact);
  };
  const unsubscribe = log.subscribe((fact) => (waiting ? void waiting.push(fact) : show(fact)));
  for (const fact of await log.read({ after, limit: Number.MAX_SAFE_INTEGER })) show(fact);
  for (const fact of waiting) show(fact);
  waiting = undefined;
  return unsubscribe;
}
