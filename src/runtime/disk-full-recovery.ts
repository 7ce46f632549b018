import type { Clock } from "../protocol/clock.ts";
import type { AgentId } from "../protocol/index.ts";

export interface DiskFullRecoveryPorts {
  /** Free bytes. */
  room(): number;
  sleep: Clock["sleep"];
  /** Has an agent go on; rejects when it still cannot. */
  recover(id: AgentId): Promise<void>;
}

/** Room for two journals: an agent that continues with less would soon stop again. */
export const ENOUGH_ROOM = 16 * 1024 * 1024;
const SHORTEST_MS = 1000;
const LONGEST_MS = 60_000;

/**
 * Restarts agents that stopped because the disk was full.
 *
 * DISK-FULL-1. They continue automatically, but not before there is enough room: an answer that cannot be stored is
 *     wasted money.
 * DISK-FULL-2. If there seems to be room but there is none (a quota), the intervals between retries grow.
 * DISK-FULL-3. Nothing is checked while no agent waits.
 */
export class DiskFullRecovery {
  readonly #ports: DiskFullRecoveryPorts;
  readonly #waiting = new Set<AgentId>();
  readonly #closed = new AbortController();
  #looking: Promise<void> | undefined;
  #wait = SHORTEST_MS;

  constructor(ports: DiskFullRecoveryPorts) {
    this.#ports = ports;
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** The agent goes on when there is room again. */
  waitForRoom(id: AgentId): void {
    if (this.#closed.signal.aborted) return;
    this.#waiting.add(id);
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { signal } = this.#closed;
    while (this.isWaiting) {
      await this.#ports.sleep(this.#wait, signal).catch(() => {});
      if (signal.aborted) return;
      if (this.#ports.room() < ENOUGH_ROOM) {
        this.#wait = SHORTEST_MS;
        continue;
      }
      this.#wait = Math.min(this.#wait * 2, LONGEST_MS);
      for (const id of [...this.#waiting]) {
        this.#waiting.delete(id);
        // An agent that finds no room again is added again; with anything else a person has to help.
        await this.#ports.recover(id).catch(() => {});
      }
    }
  }
}
