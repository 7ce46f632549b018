import { existsSync, mkdirSync } from "node:fs";
import { sep } from "node:path";
import { type Layout, type Place, QUEUES, type QueueName } from "./layout.ts";
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
 * The queues of one agent, or of a mesh itself: folders of message files, and what is in them in the order it came.
 *
 * QUEUE-1. Every move is one rename: a message is in exactly one queue at any instant, whoever is killed.
 * QUEUE-2. Nothing is written over: a name that is taken gets a number.
 * QUEUE-3. First in, first out: by the order in which files appeared; after a restart by the time of that (ctime), then
 *     by name.
 * QUEUE-4. The files are the truth. Whoever moves one by hand is right, and a move of ours that comes too late does
 *     nothing.
 * QUEUE-5. A look takes no file that somebody may still be writing.
 */
export class Queues {
  readonly place: Place;
  /** Joining paths is a tenth of what a message costs. */
  readonly #dirs: ReadonlyMap<QueueName, string>;
  readonly #names = new Map<LiveQueue, Set<string>>(LIVE.map((queue) => [queue, new Set()]));
  /** Of the inbox, what nobody has looked into yet. */
  readonly #unread = new Set<string>();
  /** What we moved to where it is over, and have not been told of yet: that was no hand. */
  readonly #own = new Set<string>();

  constructor(layout: Layout, place: Place) {
    this.#dirs = new Map(QUEUES.map((queue) => [queue, layout.queue(place, queue)]));
    this.place = place;
  }

  /** Makes the folders where they are missing and looks into all of them. */
  open(): QueueChanges {
    for (const queue of QUEUES) mkdirSync(this.dir(queue), { recursive: true });
    return this.look();
  }

  /** What is there now, also where nobody told us. */
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
      // Our own moves are known: somebody has ended it.
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
    // What came first may be what we learn of last.
    const inOrder = [...known].toSorted((a, b) => compare(there.get(a)?.at ?? 0n, there.get(b)?.at ?? 0n));
    known.clear();
    for (const name of inOrder) known.add(name);
  }

  /** One file, of which somebody said that it came or went. True when that is news, and none of our own moves. */
  noticed(queue: QueueName, name: string): boolean {
    if (!isMessageName(name, queue)) return false;
    const isThere = exists(this.path(queue, name));
    // Of what is over only the files are kept in mind: there may be any number.
    if (!isLive(queue)) return !this.#own.delete(`${queue}/${name}`);
    if (!isThere) return this.#lose(queue, name);
    return !this.#of(queue).has(name) && this.#gain(queue, name);
  }

  /** What has come to the inbox and was not looked into, in the order it came. */
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

  /** What came to where it is over before then (milliseconds), in that order. */
  before(queue: QueueName, time: number): string[] {
    const until = BigInt(Math.floor(time)) * 1_000_000n;
    const found = [...messagesIn(this.dir(queue), queue)].filter(([, { at }]) => at < until);
    return found.toSorted(byArrival).map(([name]) => name);
  }

  /** When what has been there longest came there (milliseconds). */
  oldest(queue: LiveQueue): number | undefined {
    const came = this.list(queue).flatMap((name) => arrivalOf(this.path(queue, name)) ?? []);
    return came.length === 0 ? undefined : Math.min(...came.map((at) => Number(at / 1_000_000n)));
  }

  /** What came to where it is over since then (milliseconds), in that order. Others get their turn in between. */
  async since(queue: QueueName, time: number): Promise<string[]> {
    const from = BigInt(Math.floor(time)) * 1_000_000n;
    // Whatever comes or goes changes the folder.
    if ((arrivalOf(this.dir(queue)) ?? 0n) < from) return [];
    const found: [string, bigint][] = [];
    for (const [index, name] of this.names(queue).entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await new Promise(setImmediate);
      const at = arrivalOf(this.path(queue, name));
      if (at !== undefined && at >= from) found.push([name, at]);
    }
    return found.toSorted(([a, at], [b, bt]) => compare(at, bt) || (a < b ? -1 : 1)).map(([name]) => name);
  }

  /** Of those that are over, only those that are meant. */
  count(queue: QueueName, isMeant: (name: string) => boolean = () => true): number {
    return isLive(queue) ? this.#of(queue).size : namesIn(this.dir(queue), queue).filter(isMeant).length;
  }

  has(queue: QueueName, name: string): boolean {
    return isLive(queue) ? this.#of(queue).has(name) : existsSync(this.path(queue, name));
  }

  /**
   * Where a message of that name is, if it is anywhere. One in quarantine is none. What we do not know of is looked for on
   * the disk, twice: a hand may be moving it past us, and what is held to be nowhere is made again.
   */
  find(name: string): QueueName | undefined {
    const onDisk = () => IN_ORDER.find((queue) => existsSync(this.path(queue, name)));
    return LIVE.find((queue) => this.#of(queue).has(name)) ?? onDisk() ?? onDisk();
  }

  /** In no order, and without a look at each. */
  names(queue: QueueName): string[] {
    return namesIn(this.dir(queue), queue);
  }

  /**
   * Whether the one came where it is before the other did (of another's queues, perhaps), or in the same instant. What a
   * hand has just taken away from there did not.
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

  /** Moves within these queues. The name it has there, or undefined when it was not there to be moved. */
  move(name: string, from: QueueName, to: QueueName, isTaken: IsTaken = () => false): string | undefined {
    return this.#rename(name, from, this, to, this.freeName(to, name, isTaken));
  }

  /** Moves to another's queue. */
  moveTo(name: string, from: QueueName, other: Queues, to: QueueName): string | undefined {
    return this.#rename(name, from, other, to, other.freeName(to, name));
  }

  /** Moves under a name by which it is to be found. */
  moveAs(name: string, from: QueueName, to: QueueName, as: string): boolean {
    return this.#rename(name, from, this, to, this.freeName(to, as)) !== undefined;
  }

  /** A name that the queue does not have, and that nobody minds. */
  freeName(queue: QueueName, name: string, isTaken: IsTaken = () => false): string {
    // What has a number gets another one, not a second.
    const stem = name.replace(/(?:~\d{1,6})?\.md$/, "");
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : fitting(stem, `~${number}.md`);
      if (!this.has(queue, candidate) && !exists(this.path(queue, candidate)) && !isTaken(candidate)) return candidate;
    }
  }

  /** Takes in what lies written aside, under this name or a numbered one, also when others write here at this instant. */
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
      // Where the kernel has dropped notices they never come: not for ever.
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
  /** Something is other than we knew. */
  changed: boolean;
  /** Something is there that may still be written: look again when it is older. */
  young: boolean;
  /** What somebody else moved to where we did not know of it. */
  byHand: [QueueName, string][];
}

/** Of what is over: about a millisecond's worth. */
const AT_ONCE = 100;

type IsTaken = (name: string) => boolean;

/** The queues in which something is still to happen. */
const LIVE = ["inbox", "next", "active", "outbox"] as const;
type LiveQueue = (typeof LIVE)[number];

/** Where what has come to its end lies. */
const OVER = ["complete", "archive"] as const;

const IN_ORDER = [...LIVE, ...OVER] as const;

function isLive(queue: QueueName): queue is LiveQueue {
  return (LIVE as readonly QueueName[]).includes(queue);
}
