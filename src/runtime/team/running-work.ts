import { COORDINATOR } from "../../protocol/index.ts";
import { StoreError } from "../../store/errors.ts";
import { onItsOwn } from "../state/acting.ts";

interface TaskPorts {
  failed(error: unknown): void;
  /** The coordinator has ended, and everybody of its run with it. */
  ended(): Promise<void>;
}

/** Who works for an agent in this process, by id: a node's, or the coordinator's. One signal stops them all. */
export class RunningWork {
  readonly #ports: TaskPorts;
  readonly #running = new Map<string, { task: Promise<void>; own: AbortController }>();
  #work = new AbortController();

  constructor(ports: TaskPorts) {
    this.#ports = ports;
  }

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  has(id: string): boolean {
    return this.#running.has(id);
  }

  get isAborted(): boolean {
    return this.#work.signal.aborted;
  }

  get all(): Promise<void>[] {
    return [...this.#running.values()].map(({ task }) => task);
  }

  /** Workers that begin from now on are not ended by what ended the others. */
  renew(): void {
    this.#work = new AbortController();
  }

  /** AGENT-2: a task that is under way goes on, and no second one begins beside it. */
  begin(id: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#running.has(id)) return;
    const own = new AbortController();
    const signal = AbortSignal.any([this.#work.signal, own.signal]);
    const task = onItsOwn(() => work(signal))
      .catch((error: unknown) => {
        // After a stop every failure is the stop, except that the record could not be kept.
        if (!signal.aborted || error instanceof StoreError) this.#ports.failed(error);
      })
      .finally(() => this.#running.delete(id))
      .then(() => (id === COORDINATOR ? this.#ports.ended() : undefined));
    this.#running.set(id, { task, own });
  }

  /** Ends this one alone; resolves when it has, or at once when nobody is at work on it. */
  async end(id: string, reason: unknown): Promise<void> {
    const running = this.#running.get(id);
    running?.own.abort(reason);
    await running?.task;
  }

  abort(reason: unknown): void {
    this.#work.abort(reason);
  }

  /** Resolves when all but the coordinator have ended for this reason. */
  async abortNodes(reason: unknown): Promise<void> {
    this.#work.abort(reason);
    await Promise.all([...this.#running].map(([id, { task }]) => (id === COORDINATOR ? undefined : task)));
  }
}
