import { Worker } from "node:worker_threads";
import type { AgentId } from "../../protocol/index.ts";

const IDLE_MS = 1000;

/**
 * Brings the snapshots of long logs up to date in a thread, so that this one stays responsive.
 *
 * CATCH-UP-1. One agent after the other; concurrent requests for the same agent share the result.
 * CATCH-UP-2. It never fails: if the thread could not do it, there is no new snapshot, and the caller folds the log.
 * CATCH-UP-3. The thread ends after a second without work, and does not keep the process alive.
 */
export class CatchUp {
  readonly #root: string;
  readonly #waiting = new Map<AgentId, PromiseWithResolvers<void>>();
  #thread: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(root: string) {
    this.#root = root;
  }

  /** Resolves when the snapshots are as new as the log was, or when that failed. */
  run(id: AgentId): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const known = this.#waiting.get(id);
    if (known) return known.promise;
    const waiting = Promise.withResolvers<void>();
    this.#waiting.set(id, waiting);
    clearTimeout(this.#idle);
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(id);
    return waiting.promise;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  #start(): Worker {
    const file = new URL(`./catch-up-thread.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
    const thread = new Worker(file, { workerData: { root: this.#root }, env: {}, execArgv: ["--no-warnings"] });
    thread.on("message", (id: AgentId) => {
      this.#waiting.get(id)?.resolve();
      this.#waiting.delete(id);
      if (this.#waiting.size > 0) return;
      thread.unref();
      this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
    });
    // Whatever ended it: those who wait fold the logs themselves.
    thread.on("error", () => void this.#end(thread));
    thread.on("exit", () => void this.#end(thread));
    return thread;
  }

  async #end(thread = this.#thread): Promise<void> {
    if (thread === undefined || thread !== this.#thread) return;
    this.#thread = undefined;
    clearTimeout(this.#idle);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { resolve } of waiting) resolve();
    await thread.terminate();
  }
}
