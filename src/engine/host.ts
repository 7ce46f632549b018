import { z } from "zod";
import { AGENT_SUMMARY_VERSION } from "../projections/index.ts";
import type { AgentNote } from "./agent-directory.ts";
import type { Database } from "./database.ts";

export interface HostPorts {
  database: Database;
  /** For people: who this is. */
  name: string;
  /** Of the program, for people. */
  version?: string;
  /** The home that it holds: who had that before is not there any more. */
  home?: string;
  newId(): string;
  /** Only goes forward, whatever happens to the clock on the wall; in milliseconds. */
  elapsed(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** What a host learns with each heartbeat, all in one statement. */
export interface Beat {
  /** The engine's clock in milliseconds, and when it was asked and answered by `elapsed`. */
  engineMs: number;
  askedMs: number;
  answeredMs: number;
  /** How many are there, with this one. */
  hosts: number;
  /** Somebody wants it to give everything away. */
  isDraining: boolean;
  /** Trees that nobody works on although something is to be done there: their host is gone. */
  orphans: string[];
  /** Trees at rest of which the next instant has come. */
  due: string[];
}

/** How often a host says that it is there. */
const BEAT_MS = 2000;
/** A host that could not say so for this long stops by itself, before another one takes over. */
const FENCE_MS = 8000;
/** A host that has not been heard of for this long has lost what it had. */
export const HOST_PATIENCE = "10 seconds";
/** Without an answer for so long the engine counts as away: people are told. */
const AWAY_MS = 4000;

/**
 * This process among those that work from an engine.
 *
 * HOST-1. It counts as there while its heartbeat is younger than 10 s by the engine's clock; a host's own clock decides
 *     nothing.
 * HOST-2. If it could not say so for 8 s on a clock that only goes forward, it is lost: it drops all it had, and says
 *     so once. It never gives back what it has lost: by then that may be another host's.
 * HOST-3. A host that leaves in order gives everything back at once.
 * HOST-4. All that it asks regularly is one statement with each heartbeat, however many agents rest.
 */
export class Host {
  readonly id: string;
  readonly #ports: HostPorts;
  readonly #end = new AbortController();
  readonly #hearers = new Set<(beat: Beat) => void>();
  #heard = 0;
  #last: Beat | undefined;
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

  get name(): string {
    return this.#ports.name;
  }

  /** Fires when it was lost, or has left. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The engine has not answered for a while. */
  get isAway(): boolean {
    return this.#ports.elapsed() - this.#heard > AWAY_MS;
  }

  /** What was learnt last. */
  get last(): Beat | undefined {
    return this.#last;
  }

  /** Called with each heartbeat that the engine has heard. Returns the unsubscribe. */
  onBeat(hearer: (beat: Beat) => void): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  async join(onLost: () => void): Promise<void> {
    const { database, name, version = "", home = null, elapsed } = this.#ports;
    this.#onLost = onLost;
    this.#heard = elapsed();
    await database.query("select join_hosts($1, $2, $3, $4)", [this.id, name, version, home]);
    await this.#beatOnce();
    this.#beating = Promise.all([this.#beat(), this.#watch()]).then(() => {});
  }

  /** The epoch of the claim; undefined while another host has the tree. */
  async claim(tree: string): Promise<number | undefined> {
    const rows = await this.#ports.database.query("select claim_tree($1, $2, $3::interval) as epoch", [
      tree,
      this.id,
      HOST_PATIENCE,
    ]);
    return claimRows.parse(rows)[0]?.epoch ?? undefined;
  }

  /**
   * Only this claim: the tree may have been claimed again meanwhile, also by this host. Without a note nobody knows
   * whether something is to be done there: another host has a look.
   */
  async release(tree: string, epoch: number, note?: AgentNote): Promise<void> {
    if (this.signal.aborted) return;
    const noted = `, summary = $4, inbox = $5, summary_version = $6, is_wanted = $7, due = to_timestamp($8::float8),
      noted = clock_timestamp()`;
    await this.#ports.database.query(
      `update trees set owner = null, changed = now() ${note ? noted : ""} where tree = $1 and owner = $2 and epoch = $3`,
      [tree, this.id, epoch, ...(note ? noteColumns(note) : [])],
    );
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
    while (!this.signal.aborted) {
      await this.#ports.sleep(BEAT_MS, this.signal).catch(() => {});
      if (!this.signal.aborted) await this.#beatOnce().catch(() => {});
    }
  }

  async #beatOnce(): Promise<void> {
    const { database, elapsed } = this.#ports;
    const askedMs = elapsed();
    const rows = beatRows.parse(
      await database.query("select * from attend($1, $2::interval)", [this.id, HOST_PATIENCE]),
    );
    const [said] = rows;
    if (said === undefined) return this.#lose();
    // From when it was asked: how long the answer took must not count for it.
    this.#heard = askedMs;
    if (this.signal.aborted) return;
    const beat = { ...said, askedMs, answeredMs: elapsed() };
    this.#last = beat;
    for (const hearer of this.#hearers) hearer(beat);
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

function noteColumns({ summary, inbox, isWanted, due }: AgentNote): unknown[] {
  return [JSON.stringify(summary), JSON.stringify(inbox), AGENT_SUMMARY_VERSION, isWanted, due];
}

const claimRows = z.array(z.object({ epoch: z.coerce.number().nullable() }));
const beatRows = z.array(
  z
    .object({
      engine_ms: z.number(),
      host_count: z.number(),
      is_draining: z.boolean(),
      orphans: z.array(z.string()),
      due_trees: z.array(z.string()),
    })
    .transform(({ engine_ms, host_count, is_draining, orphans, due_trees }) => ({
      ...{ engineMs: engine_ms, hosts: host_count, isDraining: is_draining },
      ...{ orphans, due: due_trees },
    })),
);
