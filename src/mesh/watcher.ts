import { type FSWatcher, mkdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { QUEUES, type QueueName } from "./layout.ts";
import { isMessageName } from "./queue.ts";

/**
 * Says which message files came to or went from a place's queues.
 *
 * V1. A file that was renamed in is told at once. One that is written in place is told when nobody has written to it for
 *     a while: the kernel tells of the writing in the same breath as of the file, so one round of the loop is enough to
 *     know which it is.
 * V2. One notice for each arrival, however many events the kernel makes of it.
 * V3. A folder that is deleted is made again and watched again. After a burst everything is looked at once more, since
 *     the kernel drops events when too many wait.
 */
export class QueueWatcher {
  readonly #dir: string;
  readonly #notice: Notices;
  readonly #watched = new Map<QueueName, FSWatcher>();
  #parent: FSWatcher | undefined;
  /** Files that are being written: the timer that waits for quiet. */
  readonly #growing = new Map<string, NodeJS.Timeout>();
  /** Files of which we wait one round to see whether somebody writes to them. */
  readonly #fresh = new Set<string>();
  #burst = 0;
  #calm: NodeJS.Timeout | undefined;
  #isOpen = true;

  /** `dir` is the folder `msgs` that holds the queues. */
  constructor(dir: string, notice: Notices) {
    this.#dir = dir;
    this.#notice = notice;
    this.#watchAll();
  }

  close(): void {
    this.#isOpen = false;
    for (const timer of this.#growing.values()) clearTimeout(timer);
    clearTimeout(this.#calm);
    for (const watcher of this.#watched.values()) watcher.close();
    this.#parent?.close();
  }

  #watchAll(): void {
    mkdirSync(this.#dir, { recursive: true });
    this.#parent = watch(this.#dir, (_, name) => this.#onFolder(name));
    this.#parent.on("error", () => {});
    for (const queue of QUEUES) this.#watch(queue);
  }

  #watch(queue: QueueName): void {
    const dir = join(this.#dir, queue);
    mkdirSync(dir, { recursive: true });
    const watcher = watch(dir, (event, name) => {
      if (name !== null && isMessageName(name)) this.#onFile(queue, name, event);
    });
    watcher.on("error", () => this.#onFolder(queue));
    this.#watched.get(queue)?.close();
    this.#watched.set(queue, watcher);
  }

  #onFolder(name: string | null): void {
    const queue = QUEUES.find((one) => one === name);
    if (queue === undefined || !this.#isOpen) return;
    // Made anew or gone: either way the old watch sees nothing any more.
    try {
      this.#watch(queue);
    } catch {
      // The whole place is being deleted; whoever comes back opens it again.
    }
    this.#notice.look();
  }

  #onFile(queue: QueueName, name: string, event: string): void {
    this.#countBurst();
    const key = `${queue}/${name}`;
    if (event === "change") {
      if (this.#fresh.delete(key) || this.#growing.has(key)) this.#wait(queue, name, key);
      return;
    }
    if (this.#fresh.has(key)) return;
    const size = sizeOf(join(this.#dir, key));
    if (size === undefined) {
      this.#forget(key);
      this.#notice.changed(queue, name);
    } else if (size === 0) this.#wait(queue, name, key);
    else {
      this.#fresh.add(key);
      // Two rounds: the first ends the batch of events we are in, the second takes what was waiting behind it.
      setImmediate(() =>
        setImmediate(() => {
          if (this.#fresh.delete(key)) this.#notice.changed(queue, name);
        }),
      );
    }
  }

  #wait(queue: QueueName, name: string, key: string): void {
    this.#forget(key);
    const timer = setTimeout(() => {
      this.#growing.delete(key);
      this.#notice.changed(queue, name);
    }, QUIET_MS);
    this.#growing.set(key, timer);
  }

  #forget(key: string): void {
    this.#fresh.delete(key);
    clearTimeout(this.#growing.get(key));
    this.#growing.delete(key);
  }

  #countBurst(): void {
    this.#burst++;
    if (this.#calm) return;
    this.#calm = setTimeout(() => {
      this.#calm = undefined;
      const many = this.#burst > BURST;
      this.#burst = 0;
      if (many && this.#isOpen) this.#notice.look();
    }, CALM_MS);
  }
}

export interface Notices {
  /** This file came or went. */
  changed(queue: QueueName, name: string): void;
  /** Something may have been missed: look at everything. */
  look(): void;
}

const QUIET_MS = 100;
const CALM_MS = 200;
const BURST = 500;

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
