import { existsSync, mkdirSync } from "node:fs";
import { sep } from "node:path";
import { type Layout, type MeshAddress, QUEUES, type QueueName } from "./layout.ts";
import { fitting } from "./message-names.ts";
import {
  arrivalOf,
  byArrival,
  compare,
  exists,
  isMessageName,
  linked,
  messagesIn,
  namesIn,
  renamed,
} from "./queue-files.ts";

/**
 * The queues of one agent, or of a mesh itself: folders of message files, and their messages in the order of arrival.
 *
 * QUEUE-1. Every move is one rename: a message is in exactly one queue at any moment, whichever process is killed.
 * QUEUE-2. Nothing is overwritten: if a name is taken, a number is added.
 * QUEUE-3. First in, first out: by the order in which files appeared; after a restart by their ctime, then by name.
 * QUEUE-4. The files are the truth. A file that is moved by hand counts as moved, and a later move of ours does
 *     nothing.
 * QUEUE-5. A scan skips files that may still be being written.
 */
export class Queues {
  readonly address: MeshAddress;
  /** Joining paths is a tenth of what a message costs. */
  readonly #dirs: ReadonlyMap<QueueName, string>;
  readonly #names = new Map<LiveQueue, Set<string>>(LIVE.map((queue) => [queue, new Set()]));
  /** Messages in the inbox that were not read yet. */
  readonly #unread = new Set<string>();
  /** What we moved to `complete` or `archive` and were not notified of yet: it was not moved by hand. */
  readonly #own = new Set<string>();

  constructor(layout: Layout, address: MeshAddress) {
    this.#dirs = new Map(QUEUES.map((queue) => [queue, layout.queue(address, queue)]));
    this.address = address;
  }

  /** Makes the folders that are missing, and looks into all of them. */
  open(): QueueChanges {
    for (const queue of QUEUES) mkdirSync(this.dir(queue), { recursive: true });
    return this.look();
  }

  /** Finds out what is there now, also what we were not notified of. */
  look(): QueueChanges {
    const found: QueueChanges = { changed: false, young: false, byHand: [] };
    for (const queue of LIVE) this.#lookInto(queue, found);
    return found;
  }

  #lookInto(queue: LiveQueue, found: QueueChanges): void {
    const known = this.#of(queue);
    const there = messagesIn(this.dir(queue), queue);
    for (const name of [...known]) {
      if (there.has(name)) continue;
      found.changed = this.#lose(queue, name) || found.changed;
      // We know our own moves, so somebody else has ended it.
      const over = OVER.find((one) => existsSync(this.path(one, name)));
      if (over) found.byHand.push([over, name]);
    }
    const fresh = [...there].filter(([name]) => !known.has(name)).toSorted(byArrival);
    const whole = fresh.filter(([, { isYoung }]) => !isYoung);
    found.young ||= whole.length < fresh.length;
    if (whole.length === 0) return;
    found.changed = true;
    for (const [name] of whole) {
      this.#gain(queue, name);
      if (queue === "next" || queue === "active") found.byHand.push([queue, name]);
    }
    // We may learn last of what came first.
    const inOrder = [...known].toSorted((a, b) => compare(there.get(a)?.at ?? 0n, there.get(b)?.at ?? 0n));
    known.clear();
    for (const name of inOrder) known.add(name);
  }

  /** A notice that this file came or went. True if that is news, and not a move of our own. */
  noticed(queue: QueueName, name: string): boolean {
    if (!isMessageName(name, queue)) return false;
    const isThere = exists(this.path(queue, name));
    // What is over is not kept in memory: there may be any number of files.
    if (!isLive(queue)) return !this.#own.delete(`${queue}/${name}`);
    if (!isThere) return this.#lose(queue, name);
    return !this.#of(queue).has(name) && this.#gain(queue, name);
  }

  /** Messages in the inbox that were not read, in the order they came. */
  unread(): string[] {
    return [...this.#unread];
  }

  markRead(name: string): void {
    this.#unread.delete(name);
  }

  markUnread(name: string): void {
    if (this.#of("inbox").has(name)) this.#unread.add(name);
  }

  first(queue: LiveQueue, isMeant: (name: string) => boolean = () => true): string | undefined {
    for (const name of this.#of(queue)) if (isMeant(name)) return name;
    return undefined;
  }

  list(queue: QueueName): string[] {
    if (isLive(queue)) return [...this.#of(queue)];
    return [...messagesIn(this.dir(queue), queue)].toSorted(byArrival).map(([name]) => name);
  }

  /** What came to the queue before this time (milliseconds), in that order. */
  before(queue: QueueName, time: number): string[] {
    const until = BigInt(Math.floor(time)) * 1_000_000n;
    const found = [...messagesIn(this.dir(queue), queue)].filter(([, { at }]) => at < until);
    return found.toSorted(byArrival).map(([name]) => name);
  }

  /** When the oldest message came to the queue (milliseconds). */
  oldest(queue: LiveQueue): number | undefined {
    const came = this.list(queue).flatMap((name) => arrivalOf(this.path(queue, name)) ?? []);
    return came.length === 0 ? undefined : Math.min(...came.map((at) => Number(at / 1_000_000n)));
  }

  /** What came to the queue since this time (milliseconds), in that order. Yields to other work in between. */
  async since(queue: QueueName, time: number): Promise<string[]> {
    const from = BigInt(Math.floor(time)) * 1_000_000n;
    // A folder changes with everything that comes or goes.
    if ((arrivalOf(this.dir(queue)) ?? 0n) < from) return [];
    const found: [string, bigint][] = [];
    for (const [index, name] of this.names(queue).entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await new Promise(setImmediate);
      const at = arrivalOf(this.path(queue, name));
      if (at !== undefined && at >= from) found.push([name, at]);
    }
    return found.toSorted(([a, at], [b, bt]) => compare(at, bt) || (a < b ? -1 : 1)).map(([name]) => name);
  }

  /** Only `complete`, `archive` and `quarantine` are filtered. */
  count(queue: QueueName, isMeant: (name: string) => boolean = () => true): number {
    return isLive(queue) ? this.#of(queue).size : namesIn(this.dir(queue), queue).filter(isMeant).length;
  }

  has(queue: QueueName, name: string): boolean {
    return isLive(queue) ? this.#of(queue).has(name) : existsSync(this.path(queue, name));
  }

  /**
   * The queue that a message of this name is in; quarantine does not count. What we do not know of is looked for on the
   * disk, twice: somebody may be moving it at this moment, and what is taken to be nowhere is made again.
   */
  find(name: string): QueueName | undefined {
    const onDisk = () => IN_ORDER.find((queue) => existsSync(this.path(queue, name)));
    return LIVE.find((queue) => this.#of(queue).has(name)) ?? onDisk() ?? onDisk();
  }

  /** In no order, without a look at each file. */
  names(queue: QueueName): string[] {
    return namesIn(this.dir(queue), queue);
  }

  /**
   * Whether one message came to its queue before the other (perhaps in the queues of another agent), or at the same time.
   * False if it was moved away meanwhile.
   */
  cameBefore(one: [QueueName, string], other: [QueueName, string], whose: Queues = this): boolean {
    const came = arrivalOf(this.path(...one));
    return came !== undefined && came <= (arrivalOf(whose.path(...other)) ?? 0n);
  }

  dir(queue: QueueName): string {
    return this.#dirs.get(queue) as string;
  }

  path(queue: QueueName, name: string): string {
    return `${this.dir(queue)}${sep}${name}`;
  }

  /** Moves within these queues. Returns the name there, or undefined if there was nothing to move. */
  move(name: string, from: QueueName, to: QueueName, isTaken: IsTaken = () => false): string | undefined {
    return this.#rename(name, from, this, to, this.freeName(to, name, isTaken));
  }

  /** Moves to the queue of another. */
  moveTo(name: string, from: QueueName, other: Queues, to: QueueName): string | undefined {
    return this.#rename(name, from, other, to, other.freeName(to, name));
  }

  /** Moves under another name, by which it can be found. */
  moveAs(name: string, from: QueueName, to: QueueName, as: string): boolean {
    return this.#rename(name, from, this, to, this.freeName(to, as)) !== undefined;
  }

  /** A name that is free in the queue, and that the caller does not reject. */
  freeName(queue: QueueName, name: string, isTaken: IsTaken = () => false): string {
    // A name that has a number gets another one, not a second.
    const stem = name.replace(/(?:~\d{1,6})?\.md$/, "");
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : fitting(stem, `~${number}.md`);
      if (!this.has(queue, candidate) && !exists(this.path(queue, candidate)) && !isTaken(candidate)) return candidate;
    }
  }

  /** Moves a temporary file into a queue, under this name or a numbered one, also if others write here now. */
  take(aside: string, to: QueueName, name: string): string {
    for (;;) {
      const taken = this.freeName(to, name);
      if (!linked(aside, this.path(to, taken))) continue;
      this.#came(to, taken);
      return taken;
    }
  }

  #rename(name: string, from: QueueName, other: Queues, to: QueueName, taken: string): string | undefined {
    const moved = renamed(this.path(from, name), other.path(to, taken));
    if (isLive(from)) this.#lose(from, name);
    if (!moved) return undefined;
    other.#came(to, taken);
    return taken;
  }

  #came(queue: QueueName, name: string): void {
    if (isLive(queue)) this.#gain(queue, name);
    else {
      // If the kernel has dropped notices, they never come.
      if (this.#own.size > 10_000) this.#own.clear();
      this.#own.add(`${queue}/${name}`);
    }
  }

  #gain(queue: LiveQueue, name: string): true {
    this.#of(queue).add(name);
    if (queue === "inbox") this.#unread.add(name);
    return true;
  }

  #lose(queue: LiveQueue, name: string): boolean {
    if (queue === "inbox") this.#unread.delete(name);
    return this.#of(queue).delete(name);
  }

  #of(queue: LiveQueue): Set<string> {
    return this.#names.get(queue) as Set<string>;
  }
}

export interface QueueChanges {
  /** Something was not as we knew it. */
  changed: boolean;
  /** A file may still be being written: look again later. */
  young: boolean;
  /** What was moved by hand. */
  byHand: [QueueName, string][];
}

/** About a millisecond of work. */
const AT_ONCE = 100;

type IsTaken = (name: string) => boolean;

/** The queues in which something is still to happen. */
const LIVE = ["inbox", "next", "active", "outbox"] as const;
type LiveQueue = (typeof LIVE)[number];

/** The queues of messages that have ended. */
const OVER = ["complete", "archive"] as const;

const IN_ORDER = [...LIVE, ...OVER] as const;

function isLive(queue: QueueName): queue is LiveQueue {
  return (LIVE as readonly QueueName[]).includes(queue);
}
