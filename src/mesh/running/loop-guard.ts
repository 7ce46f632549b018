import type { MeshConfig, MessageHeader } from "../../protocol/index.ts";
import { addressName, type MeshAddress } from "../files/layout.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import { stemOf } from "../files/message-names.ts";

/**
 * Stops agents that would write to each other endlessly.
 *
 * LOOP-GUARD-1. A message is one hop further than what it follows from: what it answers, else the sender's task, else
 *     the last message that the sender got. What the mesh itself derives from a message (a step, an answer) has the
 *     same distance.
 * LOOP-GUARD-2. Turns are counted for each pair of agents within one thread, that is, everything that follows from one
 *     message: one more whenever the other one writes.
 * LOOP-GUARD-3. Beyond `max_hops`, or twice `max_rounds` turns, a message is refused and the human is asked. A message
 *     from the human to an agent begins a new thread for it.
 * LOOP-GUARD-4. The distance of a message is in its own header (`thread`, `hops`, `turn`), so it survives a restart.
 */
export class LoopGuard {
  /** By agent. */
  readonly #heard = new Map<string, Causes>();
  /** By thread and two names: how many turns, and who wrote last. */
  readonly #turns = new Map<string, { turn: number; last: string }>();

  /** An agent is told this message, or was told it before the restart. */
  heard(agent: string, own: string, { name, header }: Pick<MeshMessage, "name" | "header">): void {
    // Its own messages are in the same queues.
    if (header.from === own || header.from === agent) return;
    const heard = this.#heardBy(agent);
    const cause = causeOf({ name, header });
    heard.last = cause;
    if (header.from === "human" && header.type !== "task") heard.word = cause;
    if (header.type === "task") heard.word = undefined;
    for (const id of [stemOf(name), header["msg-id"]]) if (id !== undefined) remember(heard.byId, id, cause);
    if (header.turn === undefined) return;
    const key = pairKey(cause.thread, header.from, own);
    const turn = Number(header.turn);
    if (turn > (this.#turns.get(key)?.turn ?? 0)) remember(this.#turns, key, { turn, last: header.from });
  }

  /** The distance of a message that is to be sent; `active` is the sender's task. */
  next(
    from: MeshAddress & { agent: string },
    message: MeshMessage,
    to: string,
    active: Pick<MeshMessage, "name" | "header"> | undefined,
  ): Distance {
    const heard = this.#heardBy(from.agent);
    const answered = heard.byId.get(message.header["in-reply-to"] ?? "");
    const cause = heard.word ?? answered ?? (active ? causeOf(active) : heard.last);
    const { thread, hops } = cause ?? { thread: stemOf(message.name), hops: 0 };
    const own = addressName(from);
    const before = this.#turns.get(pairKey(thread, own, to));
    const turn = !before ? 1 : before.last === own ? before.turn : before.turn + 1;
    return { thread, hops: hops + 1, turn };
  }

  /** It was sent. */
  sent(own: string, to: string, { thread, turn }: Distance): void {
    remember(this.#turns, pairKey(thread, own, to), { turn, last: own });
  }

  #heardBy(agent: string): Causes {
    const heard = this.#heard.get(agent) ?? { byId: new Map(), last: undefined, word: undefined };
    this.#heard.set(agent, heard);
    return heard;
  }
}

export interface Distance {
  /** The message that everything began with. */
  thread: string;
  hops: number;
  turn: number;
}

export function distanceFields({ thread, hops, turn }: Distance): Pick<MessageHeader, "thread" | "hops" | "turn"> {
  return { thread, hops: String(hops), turn: String(turn) };
}

/** What the mesh derives from a message has the same distance; an answer counts as the other agent's turn. */
export function sameDistance({ thread, hops, turn }: MessageHeader, isAnswer = false): Partial<MessageHeader> {
  if (thread === undefined || hops === undefined) return {};
  return { thread, hops, ...(isAnswer && turn !== undefined && { turn: String(Number(turn) + 1) }) };
}

/** Why a message exceeds the limits, in words for its sender and for the human; undefined if it does not. */
export function whyTooFar(
  { thread, hops, turn }: Distance,
  own: string,
  to: string,
  { mesh, max_hops = MAX_HOPS, max_rounds = MAX_ROUNDS }: Pick<MeshConfig, "mesh" | "max_hops" | "max_rounds">,
): string | undefined {
  const more = (field: string) =>
    `To let them continue, answer ${own}, or raise "${field}" in meshes/mesh-configs/${mesh}.json.`;
  if (hops > max_hops)
    return `It would be message ${hops} in a row that follow from ${thread}, each sent because of the one before; at most ${max_hops} are allowed (max_hops). ${more("max_hops")}`;
  if (turn > 2 * max_rounds)
    return `${own} and ${to} have written to each other for ${max_rounds} rounds about ${thread}; more are not taken (max_rounds). ${more("max_rounds")}`;
  return undefined;
}

const MAX_HOPS = 12;
const MAX_ROUNDS = 60;

interface Cause {
  thread: string;
  hops: number;
}

interface Causes {
  byId: Map<string, Cause>;
  last: Cause | undefined;
  /** What the human said since the last task began. */
  word: Cause | undefined;
}

function causeOf({ name, header: { thread, task, hops } }: Pick<MeshMessage, "name" | "header">): Cause {
  return { thread: thread ?? task ?? stemOf(name), hops: Number(hops ?? 0) };
}

function pairKey(thread: string, one: string, other: string): string {
  return [thread, ...[one, other].toSorted()].join("\n");
}

/** Adds or renews an entry; the oldest one is forgotten. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_KNOWN && oldest !== undefined) map.delete(oldest);
}

/** For each agent, and for pairs. What was heard longer ago is seldom answered, and then counts from the task. */
const MOST_KNOWN = 100;
