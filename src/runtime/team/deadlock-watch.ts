import { deadlockOf, type Situation, type Waiter } from "../../projections/index.ts";
import { COORDINATOR, type Fact, HUMAN, type NewFact, type NodeId } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";
import { momentIn } from "../../triggers/wall-clock.ts";

type Reader = typeof COORDINATOR | typeof HUMAN;

interface DeadlockPorts {
  log: AgentLog;
  now(): Situation;
  /** With what is appended and not yet on disk. */
  pending(): Situation;
  timeZone(): string;
  /** That nobody goes on, as a message. */
  message(to: Reader, text: string, nodes: NodeId[]): NewFact;
  /** Nobody begins any more. */
  isOver(): boolean;
  failed(error: unknown): void;
}

/** Facts after which everybody may be waiting: somebody began to, or what they waited for besides each other is over. */
const MAY_END_IN_WAITING = /^(?:worker\.(?:waiting|idle)|process\.exited|trigger\..*)$/;

/**
 * Notices that all wait for each other.
 *
 * DEADLOCK-WATCH-1. The coordinator is told once for the same nodes; where it goes on waiting, or all of them wait again, the
 *     human is, once until somebody goes on. Both are messages on record: a restart repeats neither.
 */
export class DeadlockWatch {
  readonly #ports: DeadlockPorts;
  #isDue = false;

  constructor(ports: DeadlockPorts) {
    this.#ports = ports;
  }

  note({ type }: Fact): void {
    if (this.#isDue || !MAY_END_IN_WAITING.test(type)) return;
    this.#isDue = true;
    // A worker that is woken by the same facts has said so by then.
    setImmediate(() => {
      this.#isDue = false;
      this.#look();
    });
  }

  #look(): void {
    const { log, now, pending, isOver, failed } = this.#ports;
    if (isOver()) return;
    const waiters = deadlockOf(now());
    const nodes = nodesOf(waiters);
    // Somebody goes on, and only the disk does not have it yet.
    if (waiters.length === 0 || !isSame(nodes, nodesOf(deadlockOf(pending())))) return;
    const { deadlock } = pending().letters;
    const isKnown = deadlock !== undefined && isSame(nodes, deadlock.nodes);
    if (isKnown && deadlock.told_human !== undefined) return;
    const facts = [this.#telling(isKnown ? HUMAN : COORDINATOR, waiters)];
    log.append({ facts }).durable.catch(failed);
  }

  #telling(to: Reader, waiters: Waiter[]): NewFact {
    const { message, now, timeZone } = this.#ports;
    const lines = waiters.slice(0, MOST_LISTED).map((each) => `- ${lineFor(each, now(), timeZone())}`);
    const rest = waiters.length - lines.length;
    const list = [...lines, ...(rest > 0 ? [`- and ${rest} more`] : [])].join("\n");
    return message(to, `${NOBODY_GOES_ON}\n${list}\n${WHAT_TO_DO[to]}`, nodesOf(waiters));
  }
}

const MOST_LISTED = 20;
const NOBODY_GOES_ON = "Everybody waits, and nothing comes by itself until their time is up and their nodes fail:";
const WHAT_TO_DO: Readonly<Record<Reader, string>> = {
  coordinator:
    "Write to them what they wait for or how to go on without it, cancel_node what is not needed, or ask_human. If it is right that they wait for your human, go on waiting: you are not told again.",
  human:
    "The coordinator knows it and waits too. Write to one of them or to the coordinator, or cancel a node that is not needed.",
};

const WAITS_FOR: Readonly<Partial<Record<Waiter["for"], string>>> = {
  news: "a message or a colleague's result",
  children: "its sub-nodes",
  budget: "room in the budget",
};

function lineFor({ worker_id, node_id, for: reason, since_ts }: Waiter, { roster }: Situation, zone: string): string {
  const since = since_ts === null ? "" : `, since ${momentIn(since_ts * 1000, zone)}`;
  return `${roster[worker_id]?.spawned.name ?? worker_id} on ${node_id} waits for ${WAITS_FOR[reason]}${since}`;
}

function nodesOf(waiters: readonly Waiter[]): NodeId[] {
  return waiters.map(({ node_id }) => node_id);
}

function isSame(some: readonly NodeId[], others: readonly NodeId[]): boolean {
  return some.join() === others.join();
}
