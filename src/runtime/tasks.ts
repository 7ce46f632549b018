import { COORDINATOR } from "../protocol/index.ts";
import { StoreError } from "../store/errors.ts";

interface TaskPorts {
  failed(error: unknown): void;
  /** The coordinator has ended, and everybody of its run with it. */
  ended(): Promise<void>;
}

/** Who works for an agent in this process, each by an id: a node's, or the coordinator's. One signal ends them all. */
export class Tasks {
  readonly #ports: TaskPorts;
  readonly #running = new Map<string, Promise<void>>();
  #work = new AbortController();

  constructor(ports: TaskPorts) {
    this.#ports = ports;
  }

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  get isAborted(): boolean {
    return this.#work.signal.aborted;
  }

  get all(): Promise<void>[] {
    return [...this.#running.values()];
  }

  /** Who begins from now on is not ended by what ended the others. */
  renew(): void {
    this.#work = new AbortController();
  }

  /** A2: whoever is at work already goes on, and nobody begins beside them. */
  begin(id: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#running.has(id)) return;
    const { signal } = this.#work;
    const task = work(signal)
      .catch((error: unknown) => {
        // After a stop every failure is the stop, except that the record could not be kept.
        if (!signal.aborted || error instanceof StoreError) this.#ports.failed(error);
      })
      .finally(() => this.#running.delete(id))
      .then(() => (id === COORDINATOR ? this.#ports.ended() : undefined));
    this.#running.set(id, task);
  }

  abort(reason: unknown): void {
    this.#work.abort(reason);
  }

  /** Resolves when all but the coordinator have ended for this reason. */
  async abortNodes(reason: unknown): Promise<void> {
    this.#work.abort(reason);
    await Promise.all([...this.#running].map(([id, task]) => (id === COORDINATOR ? undefined : task)));
  }
}
