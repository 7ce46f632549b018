import { dict } from "../protocol/dict.ts";
import { COORDINATOR, type Fact, type FactOf, HUMAN, type NodeId } from "../protocol/index.ts";

/** A task of a mesh, or of one of its agents, by the name of its message. */
export type FailedTask = NonNullable<FactOf<"message.sent">["data"]["failed_task"]>;

/** The session of a mesh agent. */
export type MeshSession = NonNullable<FactOf<"message.sent">["data"]["mesh_session"]>;

/** A message and its receipt. */
export interface Letter {
  id: string;
  from: string;
  to: string;
  /** Who reads it: the recipient, or the coordinator in their place. `*` is everyone. */
  reader: string;
  text: string;
  hops: number;
  sent_ts: number;
  failed_task?: FailedTask;
  mesh_session?: MeshSession;
  /** It says that all wait for each other on these nodes. */
  deadlock?: NodeId[];
  status: "queued" | "seen" | "expired";
}

/** All unread messages, and the newest of the others. `sent` counts every message. */
export interface Letters {
  sent: number;
  queued: Record<string, Letter>;
  settled: Letter[];
  /**
   * The last message between two, either way, by their names in order: what the next one answers. It begins again with a
   * run, whose workers are others, and with each cycle of an agent that works for ever: old messages do not count as going back and forth.
   */
  lastBetween: Record<string, { from: string; hops: number; count: number }>;
  /** On which nodes all waited for each other when the coordinator was told so last. */
  deadlock?: {
    nodes: NodeId[];
    /** The message to the human, where that did not help, until somebody goes on. */
    told_human?: string;
  };
}

const KEPT = 500;

export function emptyLetters(): Letters {
  return { sent: 0, queued: dict(), settled: [], lastBetween: dict() };
}

export function applyToLetters(letters: Letters, fact: Fact): void {
  switch (fact.type) {
    case "message.sent": {
      const { message_id, from, to, reader, text, hops, failed_task, mesh_session, deadlock } = fact.data;
      letters.sent += 1;
      letters.queued[message_id] = {
        id: message_id,
        from,
        to,
        reader: reader ?? to,
        text,
        hops,
        sent_ts: fact.ts,
        status: "queued",
        ...(failed_task && { failed_task }),
        ...(mesh_session && { mesh_session }),
        ...(deadlock && { deadlock }),
      };
      if (deadlock) letters.deadlock = { nodes: deadlock, ...(to === HUMAN && { told_human: message_id }) };
      const pair = pairOf(from, to);
      letters.lastBetween[pair] = { from, hops, count: (letters.lastBetween[pair]?.count ?? 0) + 1 };
      return;
    }
    case "message.forwarded": {
      const letter = letters.queued[fact.data.message_id];
      if (letter) letter.reader = fact.data.to;
      return;
    }
    case "message.received":
      settle(letters, fact.data.message_id, "seen");
      return;
    case "message.expired":
      settle(letters, fact.data.message_id, "expired");
      return;
    case "mesh.completed":
      settle(letters, failureId(fact.data), "seen");
      return;
    case "mesh.session":
      if (!WAITS_FOR_PERSON.has(fact.data.state)) settleWaiting(letters, fact.data);
      return;
    case "worker.checkpointed":
      if (fact.data.worker_id === COORDINATOR) letters.lastBetween = dict();
      return;
    case "run.started":
      letters.lastBetween = dict();
      return;
    case "model.called":
      if (fact.data.node_id !== null) endDeadlock(letters);
      return;
    case "node.completed":
    case "node.failed":
    case "node.cancelled":
      endDeadlock(letters);
      return;
    case "run.finished":
      endDeadlock(letters);
      delete letters.deadlock;
      return;
  }
}

/** Somebody has gone on, or need not any more: nothing waits for the human. What the coordinator was told stays told. */
function endDeadlock(letters: Letters): void {
  const id = letters.deadlock?.told_human;
  if (!letters.deadlock || id === undefined) return;
  settle(letters, id, "seen");
  delete letters.deadlock.told_human;
}

/** The id of a message that this task failed: one per task, however often it was put back (`t.md`, `t~2.md`). */
export function failureId({ mesh, agent, name }: FailedTask): string {
  return `failed:${mesh}/${agent ?? ""}:${name.replace(/(?:~\d+)?\.md$/, "")}`;
}

/** The states in which a session goes on only when a person has done something. */
const WAITS_FOR_PERSON = new Set(["dialog", "broken", "dead"]);

function settleWaiting(letters: Letters, { mesh, agent }: MeshSession): void {
  for (const { id, mesh_session: of } of Object.values(letters.queued))
    if (of?.mesh === mesh && of.agent === agent) settle(letters, id, "seen");
}

export function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}

function settle(letters: Letters, id: string, status: "seen" | "expired"): void {
  const letter = letters.queued[id];
  if (!letter) return;
  delete letters.queued[id];
  // The words are in its file; only what waits is kept whole.
  letters.settled.push({ ...letter, text: "", status });
  if (letters.settled.length > KEPT) letters.settled.shift();
}
