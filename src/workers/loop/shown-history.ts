import { callsOf, type Entry, HEARTBEAT_OK, type ReplyEntry, textOf, type UserEntry } from "../../protocol/index.ts";

export function isQuiet(reply: ReplyEntry): boolean {
  return callsOf(reply).length === 0 && textOf(reply).trim() === HEARTBEAT_OK;
}

/**
 * Adds an entry to what the model is shown. A waking that came to nothing is dropped once something else is said:
 * a year of quiet cycles costs no room, what comes before them keeps its bytes (provider caches), and the record has
 * them all.
 */
export function addShown(shown: Entry[], entry: Entry): void {
  if (entry.role === "user" && !entry.flush) dropQuietWaking(shown, entry);
  shown.push(entry);
}

function dropQuietWaking(shown: Entry[], next: UserEntry): void {
  const at = shown.findLastIndex((entry) => entry.role === "user" || entry.role === "summary");
  const waking = shown[at];
  if (waking?.role !== "user" || !(waking.beat || waking.cycle)) return;
  const [reply, ...results] = shown.slice(at + 1);
  // It has no answer, since the provider was away: the next waking says it all.
  if (reply === undefined) {
    if (next.beat || next.cycle) shown.splice(at);
    return;
  }
  if (reply.role !== "assistant" || results.length < callsOf(reply).length) return;
  if (cameToNothing(waking, reply)) shown.splice(at);
}

/** Its first and only reply did nothing but end the cycle. */
function cameToNothing({ cycle }: UserEntry, reply: ReplyEntry): boolean {
  const calls = callsOf(reply);
  if (calls.length === 0) return cycle === true || isQuiet(reply);
  return calls.every(({ name }) => name === "checkpoint");
}
