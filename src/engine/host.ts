import { z } from "zod";
import type { Database } from "./database.ts";

export interface HostPorts {
  database: Database;
  /** For people: who this is. */
  name: string;
  newId(): string;
  /** Only goes forward, whatever happens to the clock on the wall; in milliseconds. */
  elapsed(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** How often a host says that it is there. */
const BEAT_MS = 2000;
/** A host that could not say so for this long stops by itself, before another one takes over. */
const FENCE_MS = 8000;
/** A host that has not been heard of for this long has lost what it had. */
const PATIENCE = "10 seconds";

/**
 * This process among those that work from an engine.
 *
 * HOST-1. It counts as there while its heartbeat is younger than 10 s by the engine's clock; a host's own clock decides
 *     nothing.
 * HOST-2. If it could not say so for 8 s on a clock that only goes forward, it is lost: it drops all it had, and says
 *     so once. It never gives back what it has lost: by then that may be another host's.
 * HOST-3. A host that leaves in order gives everything back at once.
 */
export class Host {
  readonly id: string;
  readonly #ports: HostPorts;
  readonly #end = new AbortController();
  #heard = 0;
  #beating: Promise<void> | undefined;
  #onLost: () => void = () => {};

  constructor(ports: HostPorts) {
    this.#ports = ports;
    this.id = ports.newId();
  }

  /** On a clock that only goes forward, in milliseconds. */
  elapsed(): number {
    return this.#ports.elapsed();
  }

  /** Fires when it was lost, or has left. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  async join(onLost: () => void): Promise<void> {
    const { database, name, elapsed } = this.#ports;
    this.#onLost = onLost;
    this.#heard = elapsed();
    await database.query("insert into hosts (host, name) values ($1, $2)", [this.id, name]);
    this.#beating = Promise.all([this.#beat(), this.#watch()]).then(() => {});
  }

  /** The epoch of the claim; undefined while another host has the tree. */
  async claim(tree: string): Promise<number | undefined> {
    const rows = await this.#ports.database.query("select claim_tree($1, $2, $3::interval) as epoch", [
      tree,
      this.id,
      PATIENCE,
    ]);
    return claimRows.parse(rows)[0]?.epoch ?? undefined;
  }

  async release(tree: string): Promise<void> {
    if (this.signal.aborted) return;
    await this.#ports.database.query("update trees set owner = null, changed = now() where tree = $1 and owner = $2", [
      tree,
      this.id,
    ]);
  }

  /** HOST-3. */
  async leave(): Promise<void> {
    const isLost = this.signal.aborted;
    this.#end.abort();
    await this.#beating;
    // What it owned is nobody's with it.
    if (!isLost) await this.#ports.database.query("delete from hosts where host = $1", [this.id]).catch(() => {});
  }

  async #beat(): Promise<void> {
    const { database, elapsed, sleep } = this.#ports;
    while (!this.signal.aborted) {
      const sent = elapsed();
      const rows = await database
        .query("update hosts set beat = clock_timestamp() where host = $1 returning 1", [this.id])
        .catch(() => undefined);
      if (rows?.length === 0) return this.#lose();
      // From when it was sent: how long the answer took must not count for it.
      if (rows) this.#heard = sent;
      await sleep(BEAT_MS, this.signal).catch(() => {});
    }
  }

  async #watch(): Promise<void> {
    const { elapsed, sleep } = this.#ports;
    while (!this.signal.aborted) {
      const left = this.#heard + FENCE_MS - elapsed();
      if (left <= 0) return this.#lose();
      await sleep(left, this.signal).catch(() => {});
    }
  }

  #lose(): void {
    if (this.signal.aborted) return;
    this.#end.abort();
    this.#onLost();
  }
}

const claimRows = z.array(z.object({ epoch: z.coerce.number().nullable() }));
