import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Layout, type Place, QUEUES, type QueueName } from "./layout.ts";

/**
 * The queues of one agent, or of a mesh itself: folders of message files, and what is in them in the order it came.
 *
 * Q1. Every move is one rename: a message is in exactly one queue at any instant, whoever is killed.
 * Q2. Nothing is written over: a name that is taken gets a number.
 * Q3. First in, first out: by the order in which files appeared; after a restart by the time of that (ctime), then by name.
 * Q4. The files are the truth. Whoever moves one by hand is right, and a move of ours that comes too late does nothing.
 */
export class Queues {
  readonly place: Place;
  readonly #layout: Layout;
  readonly #names = new Map<LiveQueue, Set<string>>(LIVE.map((queue) => [queue, new Set()]));

  constructor(layout: Layout, place: Place) {
    this.#layout = layout;
    this.place = place;
  }

  /** Makes the folders where they are missing and looks into all of them. */
  open(): void {
    for (const queue of QUEUES) mkdirSync(this.dir(queue), { recursive: true });
    this.look();
  }

  /** What is there now, also where nobody told us. True when something is other than we knew. */
  look(): boolean {
    let changed = false;
    for (const queue of LIVE) {
      const known = this.#of(queue);
      const there = messagesIn(this.dir(queue));
      for (const name of known) {
        if (!there.has(name)) changed = known.delete(name) || changed;
      }
      const fresh = [...there].filter(([name]) => !known.has(name)).toSorted(byArrival);
      for (const [name] of fresh) known.add(name);
      changed ||= fresh.length > 0;
    }
    return changed;
  }

  /** One file, of which somebody said that it came or went. True when that is news. */
  noticed(queue: QueueName, name: string): boolean {
    if (!isMessageName(name)) return false;
    // Of what is over only the files are kept in mind: there may be any number.
    if (!isLive(queue)) return true;
    const known = this.#of(queue);
    if (isFile(this.path(queue, name))) {
      if (known.has(name)) return false;
      known.add(name);
      return true;
    }
    return known.delete(name);
  }

  first(queue: LiveQueue): string | undefined {
    const [name] = this.#of(queue);
    return name;
  }

  list(queue: QueueName): string[] {
    if (isLive(queue)) return [...this.#of(queue)];
    return [...messagesIn(this.dir(queue))].toSorted(byArrival).map(([name]) => name);
  }

  count(queue: QueueName): number {
    return isLive(queue) ? this.#of(queue).size : messagesIn(this.dir(queue)).size;
  }

  has(queue: QueueName, name: string): boolean {
    return isLive(queue) ? this.#of(queue).has(name) : existsSync(this.path(queue, name));
  }

  /** Where a message of that name is, if it is anywhere. One in quarantine is none. */
  find(name: string): QueueName | undefined {
    return QUEUES.find((queue) => queue !== "quarantine" && this.has(queue, name));
  }

  dir(queue: QueueName): string {
    return this.#layout.queue(this.place, queue);
  }

  path(queue: QueueName, name: string): string {
    return join(this.dir(queue), name);
  }

  /** Moves within these queues. The name it has there, or undefined when it was not there to be moved. */
  move(
    name: string,
    from: QueueName,
    to: QueueName,
    { unlike = [] }: { unlike?: QueueName[] } = {},
  ): string | undefined {
    return this.#rename(name, from, this, to, this.#freeName([to, ...unlike], name));
  }

  /** Moves to another's queue. */
  moveTo(name: string, from: QueueName, other: Queues, to: QueueName): string | undefined {
    return this.#rename(name, from, other, to, other.#freeName([to], name));
  }

  /** Moves under a name by which it is to be found. */
  moveAs(name: string, from: QueueName, to: QueueName, as: string): boolean {
    return this.#rename(name, from, this, to, this.#freeName([to], as)) !== undefined;
  }

  #rename(name: string, from: QueueName, other: Queues, to: QueueName, taken: string): string | undefined {
    const moved = renamed(this.path(from, name), other.path(to, taken));
    if (isLive(from)) this.#of(from).delete(name);
    if (!moved) return undefined;
    if (isLive(to)) other.#of(to).add(taken);
    return taken;
  }

  /** Takes in what lies written aside, under this name or a numbered one. */
  take(aside: string, to: QueueName, name: string): string | undefined {
    const taken = this.#freeName([to], name);
    if (!renamed(aside, this.path(to, taken))) return undefined;
    if (isLive(to)) this.#of(to).add(taken);
    return taken;
  }

  #of(queue: LiveQueue): Set<string> {
    return this.#names.get(queue) as Set<string>;
  }

  /** A name that none of these queues has. */
  #freeName(queues: readonly QueueName[], name: string): string {
    const stem = name.replace(/\.md$/, "");
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : `${stem}~${number}.md`;
      if (!queues.some((queue) => this.has(queue, candidate) || existsSync(this.path(queue, candidate))))
        return candidate;
    }
  }
}

/** The queues in which something is still to happen. */
const LIVE = ["inbox", "next", "active", "outbox"] as const;
type LiveQueue = (typeof LIVE)[number];

function isLive(queue: QueueName): queue is LiveQueue {
  return (LIVE as readonly QueueName[]).includes(queue);
}

/** Editors' temporary files, hidden ones and reasons beside quarantined messages are no messages. */
export function isMessageName(name: string): boolean {
  return name.endsWith(".md") && !name.startsWith(".") && !name.startsWith("#") && !name.endsWith(".reason.md");
}

function messagesIn(dir: string): Map<string, bigint> {
  const found = new Map<string, bigint>();
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // Somebody deleted the folder: what was in it is gone, and what comes needs it again.
    mkdirSync(dir, { recursive: true });
    return found;
  }
  for (const name of names.filter(isMessageName)) {
    const stat = lstatSync(join(dir, name), { bigint: true, throwIfNoEntry: false });
    if (stat?.isFile()) found.set(name, stat.ctimeNs);
  }
  return found;
}

function byArrival([a, at]: [string, bigint], [b, bt]: [string, bigint]): number {
  if (at !== bt) return at < bt ? -1 : 1;
  return a < b ? -1 : 1;
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw error;
    if (!isFile(from)) return false;
    // Somebody deleted the folder it goes to.
    mkdirSync(dirname(to), { recursive: true });
    renameSync(from, to);
    return true;
  }
}
