import { type FSWatcher, lstatSync, mkdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { QUEUES, type QueueName } from "./layout.ts";
import { isMessageName, UNCHANGED_MS } from "./queue-files.ts";

/**
 * Notices which message files appear in the queues of an agent or a mesh, and which disappear.
 *
 * WATCHER-1. A file that was renamed into a queue is noticed at once. One that is written in place is noticed after it
 *     has been unchanged for a while. The kernel reports the write together with the new file, so one round of the
 *     event loop is enough to tell which it is.
 * WATCHER-2. One notice per arrival, however many events the kernel sends for it.
 * WATCHER-3. A folder that is deleted is created and watched again, once the deletion is complete. After a burst
 *     everything is scanned once more, since the kernel drops events when its queue is full.
 * WATCHER-4. If the kernel refuses to watch (its limit is reached), the folders are scanned every second instead.
 */
export class QueueWatcher {
  readonly #dir: string;
  readonly #notice: Notices;
  readonly #watched = new Map<string, FSWatcher>();
  /** Files that are being written: the timer that waits for quiet. */
  readonly #growing = new Map<string, NodeJS.Timeout>();
  /** Files for which we wait one round to see whether they are being written. */
  readonly #fresh = new Set<string>();
  #burst = 0;
  #calm: NodeJS.Timeout | undefined;
  #repair: NodeJS.Timeout | undefined;
  #polling: NodeJS.Timeout | undefined;
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
    for (const timer of [this.#calm, this.#repair, this.#polling]) clearTimeout(timer);
    for (const watcher of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  /** Watches all folders anew: the watch of a folder that was deleted sees nothing any more. */
  #watchAll(): void {
    for (const watcher of this.#watched.values()) watcher.close();
    this.#watched.clear();
    try {
      for (const queue of QUEUES) mkdirSync(join(this.#dir, queue), { recursive: true });
      this.#watch("", (_, name) => {
        if (name === null || QUEUES.some((queue) => queue === name) || !isThere(this.#dir)) this.#repairSoon();
      });
      for (const queue of QUEUES) {
        this.#watch(queue, (event, name) => {
          if (name !== null && isMessageName(name, queue)) this.#onFile(queue, name, event);
          // The deletion of the folder itself is reported under its own name.
          else if (name === queue && !isThere(join(this.#dir, queue))) this.#repairSoon();
        });
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOSPC" || code === "EMFILE") this.#poll();
      else this.#repairSoon();
    }
  }

  #watch(name: string, onEvent: (event: string, name: string | null) => void): void {
    const watcher = watch(join(this.#dir, name), onEvent);
    watcher.on("error", () => this.#repairSoon());
    this.#watched.set(name, watcher);
  }

  #repairSoon(): void {
    if (!this.#isOpen || this.#repair) return;
    this.#repair = setTimeout(() => {
      this.#repair = undefined;
      this.#watchAll();
      this.#notice.look();
    }, UNCHANGED_MS);
  }

  #poll(): void {
    this.#polling ??= setInterval(() => this.#notice.look(), POLL_MS);
    this.#polling.unref();
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
      this.#forget(key);
      this.#fresh.add(key);
      // Two rounds: the first ends the batch of events we are in, the second takes what was waiting behind it.
      setImmediate(() =>
        setImmediate(() => {
          if (this.#fresh.delete(key) && this.#isOpen) this.#notice.changed(queue, name);
        }),
      );
    }
  }

  #wait(queue: QueueName, name: string, key: string): void {
    this.#forget(key);
    const timer = setTimeout(() => {
      this.#growing.delete(key);
      this.#notice.changed(queue, name);
    }, UNCHANGED_MS);
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

const CALM_MS = 200;
const BURST = 500;
const POLL_MS = 1_000;

function isThere(dir: string): boolean {
  return statSync(dir, { throwIfNoEntry: false }) !== undefined;
}

function sizeOf(path: string): number | undefined {
  // Also for a link that leads nowhere.
  return lstatSync(path, { throwIfNoEntry: false })?.size;
}
