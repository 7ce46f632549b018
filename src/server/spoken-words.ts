import type { Roster } from "../projections/index.ts";
import { COORDINATOR, type Fact, type FactOf, textOf } from "../protocol/index.ts";
import { conversationFile } from "../store/paths.ts";
import type { AgentLog } from "../store/store.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";

type Conversations = Pick<AgentLog, "entriesBefore">;

/** The text of the replies that these facts end, by the number of the fact, from the conversations. */
export async function wordsOf(
  facts: readonly Fact[],
  log: Conversations,
  roster: () => Roster,
): Promise<Map<number, Delta>> {
  const found = new Map<number, Delta>();
  const last = new Map<string, number>();
  for (const fact of facts) {
    if (fact.type !== "model.responded" || fact.data.correction) continue;
    const { worker_id, node_id } = fact.data;
    const said = (await repliesAt(fact, log, roster())).find(({ seq }) => seq > (last.get(worker_id) ?? 0));
    if (!said) continue;
    last.set(worker_id, said.seq);
    if (said.text !== "") found.set(fact.seq, { worker_id, node_id, kind: "text", text: said.text });
  }
  return found;
}

/** A reply and its fact are one append: they bear the same time. */
async function repliesAt({ data: { worker_id }, ts }: FactOf<"model.responded">, log: Conversations, roster: Roster) {
  const run = roster[worker_id]?.spawned.run_id;
  if (run === undefined && worker_id !== COORDINATOR) return [];
  const file = conversationFile(run ?? "run-1", worker_id);
  for (let limit = PAGE; ; limit *= 4) {
    const { from, entries } = await log.entriesBefore(file, limit).catch(() => ({ from: 1, entries: [] }));
    if (from > 1 && (entries[0]?.ts ?? 0) >= ts) continue;
    return entries.flatMap((entry) =>
      entry.role === "assistant" && entry.ts === ts ? [{ seq: entry.seq, text: textOf(entry) }] : [],
    );
  }
}

const PAGE = 32;
