import type { Roster } from "../projections/index.ts";
import { COORDINATOR, type Fact, type FactOf, textOf } from "../protocol/index.ts";
import { conversationFile } from "../store/paths.ts";
import type { AgentLog } from "../store/store.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";

type Conversations = Pick<AgentLog, "entriesBefore">;
type EndOfReply = FactOf<"model.responded">;

interface Reply {
  ts: number;
  text: string;
}

/**
 * The text of the replies that these facts end, by the number of the fact, from the conversations. Of each conversation
 * only the part that belongs to these facts is read, and once: a log that is read page by page costs as much as it is
 * long. A reply and its fact are one append: they bear the same time.
 */
export async function spokenWordsOf(
  facts: readonly Fact[],
  log: Conversations,
  roster: () => Roster,
): Promise<Map<number, Delta>> {
  const found = new Map<number, Delta>();
  for (const [worker_id, endings] of Map.groupBy(facts.filter(endsReply), ({ data }) => data.worker_id)) {
    const run = roster()[worker_id]?.spawned.run_id;
    if (run === undefined && worker_id !== COORDINATOR) continue;
    const replies = Map.groupBy(
      await repliesOf(endings, conversationFile(run ?? "run-1", worker_id), log),
      ({ ts }) => ts,
    );
    for (const { seq, ts, data } of endings) {
      const said = replies.get(ts)?.shift();
      if (said && said.text !== "") found.set(seq, { worker_id, node_id: data.node_id, kind: "text", text: said.text });
    }
  }
  return found;
}

function endsReply(fact: Fact): fact is EndOfReply {
  return fact.type === "model.responded" && !fact.data.correction;
}

async function repliesOf(endings: readonly EndOfReply[], file: string, log: Conversations): Promise<Reply[]> {
  const times = new Set(endings.map(({ ts }) => ts));
  const from = await firstSince(Math.min(...times), file, log);
  const replies = await repliesAt(times, { from, upTo: Math.max(...times) }, file, log);
  // A clock may have been set back meanwhile: then they can be anywhere.
  if (replies.length < endings.length) return repliesAt(times, { from: 1, upTo: Number.POSITIVE_INFINITY }, file, log);
  return replies;
}

/** In the order in which they were given: from an entry on, up to a time. */
async function repliesAt(
  times: ReadonlySet<number>,
  range: { from: number; upTo: number },
  file: string,
  log: Conversations,
): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (let next = range.from; ; next += PAGE) {
    const { from, entries } = await page(file, PAGE, next + PAGE, log);
    for (const entry of entries) {
      const { seq, ts } = entry;
      if (seq >= next && entry.role === "assistant" && times.has(ts)) replies.push({ ts, text: textOf(entry) });
    }
    if (from < next || (entries.at(-1)?.ts ?? 0) > range.upTo) return replies;
  }
}

/** The number of the first entry of this time or later. Where one was damaged, it may be an earlier one. */
async function firstSince(ts: number, file: string, log: Conversations): Promise<number> {
  let low = 1;
  let high = (await page(file, 1, Number.POSITIVE_INFINITY, log)).from + 1;
  // Mostly it is one of the last.
  for (let at = Math.max(1, high - PAGE); low < high; at = Math.floor((low + high) / 2)) {
    const [entry] = (await page(file, 1, at + 1, log)).entries;
    if (entry && entry.ts < ts) low = at + 1;
    else high = at;
  }
  return low;
}

function page(file: string, limit: number, before: number, log: Conversations) {
  return log.entriesBefore(file, limit, before).catch(() => ({ from: 0, entries: [] }));
}

const PAGE = 32;
