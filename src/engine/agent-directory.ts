import { z } from "zod";
import { AGENT_SUMMARY_VERSION, type AgentSummaryData, preliminarySummary } from "../projections/index.ts";
import { type AgentId, agentIdSchema } from "../protocol/index.ts";
import type { Queries } from "./database.ts";
import { decodeFact } from "./decode-fact.ts";

/** What all hosts know of an agent without its record. */
export interface AgentNote {
  summary: AgentSummaryData;
  /** What waits for the person there. */
  inbox: readonly unknown[];
  /** Somebody has to be at work on it: without an owner, a host takes it. */
  isWanted: boolean;
  /** When something falls due although the agent rests, in seconds; null: never by itself. */
  due: number | null;
}

export interface DirectoryPorts {
  queries: Queries;
  /** The host that notes. */
  host: string;
  signal: AbortSignal;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** What is noted of one agent is written at most so often. */
const NOTE_MS = 1000;
/** Rows that were noted this long before the newest that was seen are read again: commits do not come in order. */
const OVERLAP = "10 seconds";
/** Of agents without a note, so many are read for a list. */
const MOST_PRELIMINARY = 200;

/**
 * All agents of an engine in one row each: what lists show, on any host.
 *
 * DIRECTORY-1. The owner notes how its agent is doing, at most once a second, and once more when it gives it back. What
 *     a host notes of a tree that is not its own any more changes nothing.
 * DIRECTORY-2. A list costs one statement, however many agents rest: only what was noted since the last one is sent.
 * DIRECTORY-3. An agent of which nobody has noted anything (just imported, or noted by another version) is listed by
 *     its first fact, marked as loading.
 */
export class AgentDirectory {
  readonly #ports: DirectoryPorts;
  readonly #known = new Map<AgentId, Listed>();
  readonly #notes = new Map<AgentId, () => AgentNote>();
  readonly #listeners = new Set<() => void>();
  #toWrite = new Set<AgentId>();
  #writing: Promise<void> | undefined;
  #refreshing: Promise<void> | undefined;
  #newest: number | null = null;
  #missing: AgentId[] = [];

  constructor(ports: DirectoryPorts) {
    this.#ports = ports;
  }

  /** Called when a list would show something else of agents that others have. Returns the unsubscribe. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Somebody shows a list, which is to be kept up to date. */
  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  async all(): Promise<Listed[]> {
    await this.refresh();
    return [...this.#known.values()];
  }

  /** Those that somebody has to open once, so that their note can be written. */
  get unnoted(): readonly AgentId[] {
    return this.#missing;
  }

  /** How an agent of this host is doing; asked again for each writing. */
  note(id: AgentId, note: () => AgentNote): void {
    this.#notes.set(id, note);
    this.#toWrite.add(id);
    this.#writing ??= this.#writeSoon().finally(() => {
      this.#writing = undefined;
    });
  }

  /** The last note of an agent that is given back with it. */
  take(id: AgentId): AgentNote | undefined {
    const note = this.#notes.get(id);
    this.#notes.delete(id);
    this.#toWrite.delete(id);
    return note?.();
  }

  /** Reads what was noted since. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #writeSoon(): Promise<void> {
    const { signal, sleep } = this.#ports;
    while (this.#toWrite.size > 0 && !signal.aborted) {
      const ids = this.#toWrite;
      this.#toWrite = new Set();
      const notes = [...ids].flatMap((id) => this.#notes.get(id)?.() ?? []);
      await this.#write(notes).catch(() => {
        // The engine is away for a moment.
        for (const id of ids) if (this.#notes.has(id)) this.#toWrite.add(id);
      });
      await sleep(NOTE_MS, signal).catch(() => {});
    }
  }

  async #write(notes: readonly AgentNote[]): Promise<void> {
    if (notes.length === 0) return;
    await this.#ports.queries.query(
      `update trees set summary = each.summary, inbox = each.inbox, due = to_timestamp(each.due), summary_version = $1,
         noted = clock_timestamp()
       from unnest($2::text[], $3::jsonb[], $4::jsonb[], $5::float8[]) as each (tree, summary, inbox, due)
       where trees.tree = each.tree and owner = $6`,
      [
        AGENT_SUMMARY_VERSION,
        notes.map(({ summary }) => `agents/${summary.id}`),
        notes.map(({ summary }) => JSON.stringify(summary)),
        notes.map(({ inbox }) => JSON.stringify(inbox)),
        notes.map(({ due }) => due),
        this.#ports.host,
      ],
    );
  }

  async #refresh(): Promise<void> {
    const rows = await this.#ports.queries.query(
      `select trees.tree, summary, inbox, summary_version as version, name as host, owner is null as is_free,
         extract(epoch from noted)::float8 as noted
       from trees left join hosts on host = owner
       where trees.tree like 'agents/%' and state = 'ready'
         and (noted is null or $1::float8 is null or noted > to_timestamp($1::float8) - $2::interval)`,
      [this.#newest, OVERLAP],
    );
    let isChanged = false;
    const missing: { id: AgentId; isFree: boolean }[] = [];
    for (const row of noteRows.parse(rows)) {
      const id = row.tree.slice("agents/".length) as AgentId;
      const summary = row.version === AGENT_SUMMARY_VERSION ? summarySchema.safeParse(row.summary).data : undefined;
      if (row.noted !== null && (this.#newest === null || row.noted > this.#newest)) this.#newest = row.noted;
      if (summary === undefined) {
        missing.push({ id, isFree: row.is_free });
        continue;
      }
      const before = this.#known.get(id);
      if (before?.noted === row.noted && before?.host === row.host) continue;
      const inbox = inboxSchema.safeParse(row.inbox).data ?? [];
      this.#known.set(id, { summary: summary as unknown as AgentSummaryData, inbox, host: row.host, noted: row.noted });
      isChanged = true;
    }
    this.#missing = missing.filter(({ isFree }) => isFree).map(({ id }) => id);
    if (await this.#lookAt(missing.map(({ id }) => id).filter((id) => !this.#known.has(id)))) isChanged = true;
    if (isChanged) for (const listener of this.#listeners) listener();
  }

  /** DIRECTORY-3. */
  async #lookAt(ids: readonly AgentId[]): Promise<boolean> {
    if (ids.length === 0) return false;
    const rows = await this.#ports.queries.query<{ tree: string; bytes: Buffer }>(
      "select tree, bytes from chunks where tree = any ($1) and path = 'events.jsonl' and at = 0",
      [ids.slice(0, MOST_PRELIMINARY).map((id) => `agents/${id}`)],
    );
    for (const { tree, bytes } of rows) {
      const first = decodeFact(bytes);
      if (first?.type !== "agent.created") continue;
      const id = tree.slice("agents/".length) as AgentId;
      this.#known.set(id, { summary: preliminarySummary(first, undefined, []), inbox: [], host: null, noted: null });
    }
    return rows.length > 0;
  }
}

/** An agent as lists show it. */
export interface Listed {
  summary: AgentSummaryData;
  inbox: readonly unknown[];
  /** The host that has it. */
  host: string | null;
  noted: number | null;
}

const noteRows = z.array(
  z.object({
    tree: z.string().startsWith("agents/"),
    summary: z.unknown(),
    inbox: z.unknown(),
    version: z.number().nullable(),
    noted: z.number().nullable(),
    host: z.string().nullable(),
    is_free: z.boolean(),
  }),
);
/** Written by hosts of the same version: what decides is checked, the rest is as they knew it. */
const summarySchema = z.looseObject({
  id: agentIdSchema,
  seq: z.int(),
  name: z.string(),
  status: z.string(),
  created_ts: z.number(),
  archived: z.boolean(),
  keeps_time: z.boolean(),
});
const inboxSchema = z.array(z.looseObject({ id: z.string(), kind: z.string() }));
