import type { MeshConfig, MessageHeader } from "../../protocol/index.ts";
import { nameOf, type Place } from "../files/layout.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import { stemOf } from "../files/message-names.ts";

/**
 * Whether those who write to each other will ever end.
 *
 * LOOP-GUARD-1. What an agent sends is one hop further than what it follows from: what it answers, else the task it
 *     works on, else what it heard last. What the mesh itself makes of a message (a step, an answer) is as far as that
 *     message.
 * LOOP-GUARD-2. Turns are counted for two within one thread, that is, within what began with one message of the human's
 *     or of nobody: one more whenever the word passes from one to the other.
 * LOOP-GUARD-3. Beyond `max_hops`, or twice `max_rounds` turns, a message is refused and the human is asked. A word of
 *     the human's to an agent begins a new thread for it.
 * LOOP-GUARD-4. How far a message is stands in its own header (`thread`, `hops`, `turn`), so a restart knows it too.
 */
export class LoopGuard {
  /** By agent. */
  readonly #ears = new Map<string, Heard>();
  /** By thread and two names: how many turns, and who had the last word. */
  readonly #turns = new Map<string, { turn: number; last: string }>();

  /** Somebody is told this, or was before the restart. */
  heard(agent: string, own: string, { name, header }: Pick<MeshMessage, "name" | "header">): void {
    // What it said itself lies beside what it heard.
    if (header.from === own || header.from === agent) return;
    const ears = this.#earsOf(agent);
    const cause = causeOf({ name, header });
    ears.last = cause;
    if (header.from === "human" && header.type !== "task") ears.word = cause;
    if (header.type === "task") ears.word = undefined;
    for (const id of [stemOf(name), header["msg-id"]]) if (id !== undefined) remember(ears.byId, id, cause);
    if (header.turn === undefined) return;
    const key = pairKey(cause.thread, header.from, own);
    const turn = Number(header.turn);
    if (turn > (this.#turns.get(key)?.turn ?? 0)) remember(this.#turns, key, { turn, last: header.from });
  }

  /** How far a message is that somebody sends; `active` is what they work on. */
  next(
    from: Place & { agent: string },
    message: MeshMessage,
    to: string,
    active: Pick<MeshMessage, "name" | "header"> | undefined,
  ): Distance {
    const ears = this.#earsOf(from.agent);
    const answered = ears.byId.get(message.header["in-reply-to"] ?? "");
    const cause = ears.word ?? answered ?? (active ? causeOf(active) : ears.last);
    const { thread, hops } = cause ?? { thread: stemOf(message.name), hops: 0 };
    const own = nameOf(from);
    const before = this.#turns.get(pairKey(thread, own, to));
    const turn = !before ? 1 : before.last === own ? before.turn : before.turn + 1;
    return { thread, hops: hops + 1, turn };
  }

  /** It was sent. */
  sent(own: string, to: string, { thread, turn }: Distance): void {
    remember(this.#turns, pairKey(thread, own, to), { turn, last: own });
  }

  #earsOf(agent: string): Heard {
    const ears = this.#ears.get(agent) ?? { byId: new Map(), last: undefined, word: undefined };
    this.#ears.set(agent, ears);
    return ears;
  }
}

export interface Distance {
  /** What it all began with. */
  thread: string;
  hops: number;
  turn: number;
}

export function distanceFields({ thread, hops, turn }: Distance): Pick<MessageHeader, "thread" | "hops" | "turn"> {
  return { thread, hops: String(hops), turn: String(turn) };
}

/** What the mesh makes of a message is as far as that; an answer passes the word back. */
export function sameDistance({ thread, hops, turn }: MessageHeader, isAnswer = false): Partial<MessageHeader> {
  if (thread === undefined || hops === undefined) return {};
  return { thread, hops, ...(isAnswer && turn !== undefined && { turn: String(Number(turn) + 1) }) };
}

/** Why it goes too far, in words for whoever sent it and for the human. */
export function whyTooFar(
  { thread, hops, turn }: Distance,
  own: string,
  to: string,
  { mesh, max_hops = MAX_HOPS, max_rounds = MAX_ROUNDS }: Pick<MeshConfig, "mesh" | "max_hops" | "max_rounds">,
): string | undefined {
  const more = (field: string) =>
    `To let them go on, answer ${own}, or raise "${field}" in meshes/mesh-configs/${mesh}.json.`;
  if (hops > max_hops)
    return `It would be message ${hops} in a row that follow from ${thread}, each sent because of the one before; at most ${max_hops} are taken (max_hops). ${more("max_hops")}`;
  if (turn > 2 * max_rounds)
    return `${own} and ${to} have written to each other for ${max_rounds} rounds about ${thread}; more are not taken (max_rounds). ${more("max_rounds")}`;
  return undefined;
}

export const MAX_HOPS = 12;
export const MAX_ROUNDS = 60;

interface Cause {
  thread: string;
  hops: number;
}

interface Heard {
  byId: Map<string, Cause>;
  last: Cause | undefined;
  /** What the human said since its last task began. */
  word: Cause | undefined;
}

function causeOf({ name, header: { thread, task, hops } }: Pick<MeshMessage, "name" | "header">): Cause {
  return { thread: thread ?? task ?? stemOf(name), hops: Number(hops ?? 0) };
}

function pairKey(thread: string, one: string, other: string): string {
  return [thread, ...[one, other].toSorted()].join("\n");
}

/** The oldest is forgotten. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_KNOWN && oldest !== undefined) map.delete(oldest);
}

/** For each agent, and of twos: what was heard longer ago is seldom answered, and then counts from its task. */
const MOST_KNOWN = 100;
