import { z } from "zod";
import { type Actor, actorSchema } from "../protocol/actor.ts";
import type { Database, Queries } from "./database.ts";
import type { Ear, HostNotices } from "./host-notices.ts";

/** A request to the API, as it is carried from one host to another. */
export interface CarriedRequest {
  method: string;
  /** Path and query. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Who gave the command, where it did not come over HTTP. */
  actor?: Actor | undefined;
}

export interface CarriedReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: AsyncIterable<Uint8Array>;
}

export interface TunnelPorts {
  database: Database;
  notices: HostNotices;
  /** This host, and until when it is one. */
  host: string;
  signal: AbortSignal;
  newId(): string;
  elapsed(): number;
}

/** The other host did not begin with it, or did not end: `isKnown` says that nothing was done. */
export class TunnelError extends Error {
  override readonly name: "NotCarriedError" | "NoReplyError";
  constructor(isKnown: boolean) {
    super(
      isKnown
        ? "The host that has this agent did not take the request in time. Nothing was done: try again."
        : "The host that has this agent took the request and did not answer. Whether it was carried out is not known: look at the agent before you try again.",
    );
    this.name = isKnown ? "NotCarriedError" : "NoReplyError";
  }
}

/** A request that was not taken by then is not carried out any more. */
const TAKEN_WITHIN_MS = 15_000;
/** A host that is there may take so long for its answer to begin, and for each part of it. */
const ANSWERED_WITHIN_MS = 10 * 60_000;
/** Beneath the notices: for what is asked of this host, and while it waits for an answer. */
const ASKED_MS = 2000;
const LOOK_MS = 1000;
const PART_BYTES = 1024 * 1024;
/** So many parts wait for who asked; then the other side waits. */
const MOST_PARTS = 8;

/**
 * Requests for agents of another host, by way of the engine.
 *
 * TUNNEL-1. A request is carried out at most once: by the host that has taken it, before its deadline.
 * TUNNEL-2. Who asked learns whether it was carried out; or that it certainly was not; or, if the other host ended
 *     meanwhile, that nobody knows.
 * TUNNEL-3. However large an answer is, only a few parts of it are in memory or in the engine.
 */
export class Tunnel {
  readonly #ports: TunnelPorts;
  #carry: ((request: CarriedRequest) => Promise<CarriedReply>) | undefined;

  constructor(ports: TunnelPorts) {
    this.#ports = ports;
  }

  /** Asks another host. Rejects with TunnelError. */
  async ask(to: string, request: CarriedRequest): Promise<CarriedReply> {
    const { database, newId } = this.#ports;
    const { body, ...head } = request;
    const id = newId();
    await database.query(
      `with made as (
         insert into requests (id, host, deadline, head, body)
         values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond', $4, $5)
       ) select pg_notify($6, $7)`,
      [id, to, TAKEN_WITHIN_MS, JSON.stringify(head), body, database.address.schema, requestWords(to)],
    );
    const ear = this.#ports.notices.ear(replyWords(id));
    try {
      const first = await this.#part(id, 0, ear);
      const { status, headers } = headSchema.parse(first.head);
      return { status, headers, body: this.#body(id, first, ear) };
    } catch (error) {
      ear[Symbol.dispose]();
      throw error;
    }
  }

  /** Carries out what others ask of this host, until it is none any more. */
  async serve(carry: (request: CarriedRequest) => Promise<CarriedReply>): Promise<void> {
    const { notices, host, signal } = this.#ports;
    this.#carry = carry;
    using ear = notices.ear(requestWords(host));
    while (!signal.aborted) {
      await this.#takeAll().catch(() => {});
      await ear.heard(ASKED_MS, signal);
    }
  }

  async #takeAll(): Promise<void> {
    const { database, host } = this.#ports;
    const rows = takenRows.parse(
      await database.query(
        `update requests set taken = clock_timestamp()
         where host = $1 and taken is null and deadline > clock_timestamp() returning id, head, body`,
        [host],
      ),
    );
    for (const { id, head, body } of rows) void this.#carryOut(id, { ...head, body }).catch(() => {});
  }

  async #carryOut(id: string, request: CarriedRequest): Promise<void> {
    if (!this.#carry) return;
    const { status, headers, body } = await this.#carry(request);
    const head = { status, headers };
    using ear = this.#ports.notices.ear(roomWords(id));
    let number = 0;
    let last: Buffer = Buffer.alloc(0);
    for await (const bytes of inParts(body)) {
      if (number > 0 || last.length > 0) await this.#reply(id, { number: number++, head, bytes: last, isLast: false });
      last = bytes;
      await this.#hasRoom(id, number, ear);
    }
    await this.#reply(id, { number, head, bytes: last, isLast: true });
  }

  async #reply(id: string, { number, head, bytes, isLast }: Part): Promise<void> {
    const { database } = this.#ports;
    await database.query(
      `with made as (
         insert into replies (request, number, head, bytes, is_last) select $1, $2, $3, $4, $5
         where exists (select from requests where id = $1)
       ) select pg_notify($6, $7)`,
      [id, number, JSON.stringify(head), bytes, isLast, database.address.schema, replyWords(id)],
    );
  }

  /** TUNNEL-3: what was read is gone from there. Who asked may have gone too. */
  async #hasRoom(id: string, number: number, ear: Ear): Promise<void> {
    const { database, signal, elapsed } = this.#ports;
    for (const since = elapsed(); number >= MOST_PARTS && !signal.aborted; ) {
      const [row] = await database.query<{ waiting: number; there: boolean }>(
        `select (select count(*)::int from replies where request = $1) as waiting,
           exists (select from requests where id = $1) as there`,
        [id],
      );
      if (!row?.there || elapsed() - since > ANSWERED_WITHIN_MS) throw new Error("nobody reads the answer");
      if (row.waiting < MOST_PARTS) return;
      await ear.heard(LOOK_MS, signal);
    }
  }

  async #part(id: string, number: number, ear: Ear): Promise<Part> {
    const { signal, elapsed } = this.#ports;
    for (const since = elapsed(); ; ) {
      const part = await this.#takePart(id, number);
      if (part) return part;
      const waited = elapsed() - since;
      if (waited >= LOOK_MS) await this.#checkHope(id, waited);
      await ear.heard(LOOK_MS, signal);
      if (signal.aborted) throw new TunnelError(false);
    }
  }

  async #takePart(id: string, number: number): Promise<Part | undefined> {
    const { database } = this.#ports;
    const rows = await database.query(
      "delete from replies where request = $1 and number = $2 returning number, head, bytes, is_last",
      [id, number],
    );
    const [row] = partRows.parse(rows);
    if (!row) return undefined;
    if (!row.is_last) await database.query("select pg_notify($1, $2)", [database.address.schema, roomWords(id)]);
    return { number, head: row.head, bytes: row.bytes, isLast: row.is_last };
  }

  /** TUNNEL-2. */
  async #checkHope(id: string, waitedMs: number): Promise<void> {
    const { database } = this.#ports;
    const dropped = await database.query(
      `delete from requests where id = $1 and taken is null
         and (deadline < clock_timestamp() or not exists (select from hosts where hosts.host = requests.host and beat > clock_timestamp() - interval '10 seconds'))
       returning 1`,
      [id],
    );
    if (dropped.length > 0) throw new TunnelError(true);
    const [taken] = await database.query<{ is_alive: boolean }>(
      "select beat > clock_timestamp() - interval '10 seconds' as is_alive from requests left join hosts using (host) where id = $1",
      [id],
    );
    if (taken && taken.is_alive !== false && taken.is_alive !== null && waitedMs < ANSWERED_WITHIN_MS) return;
    // It may have been answered just before.
    const [answered] = await database.query("select 1 from replies where request = $1", [id]);
    if (answered) return;
    await forget(database, id);
    throw new TunnelError(false);
  }

  async *#body(id: string, first: Part, ear: Ear): AsyncGenerator<Uint8Array> {
    using _ = ear;
    try {
      for (let part = first; ; part = await this.#part(id, part.number + 1, ear)) {
        if (part.bytes.length > 0) yield part.bytes;
        if (part.isLast) return;
      }
    } finally {
      await forget(this.#ports.database, id).catch(() => {});
    }
  }
}

/** Nobody waits for it any more. */
async function forget(queries: Queries, id: string): Promise<void> {
  await queries.query("with gone as (delete from replies where request = $1) delete from requests where id = $1", [id]);
}

/** Together what came in small pieces. */
async function* inParts(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + PART_BYTES - bytes);
      waiting.push(taken);
      bytes += taken.length;
      at += taken.length;
      if (bytes < PART_BYTES) continue;
      yield Buffer.concat(waiting);
      waiting = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

interface Part {
  number: number;
  head: unknown;
  bytes: Uint8Array;
  isLast: boolean;
}

const requestWords = (host: string): string => `request ${host}`;
const replyWords = (request: string): string => `reply ${request}`;
const roomWords = (request: string): string => `room ${request}`;

const headers = z.record(z.string(), z.string());
const takenRows = z.array(
  z.object({
    id: z.uuid(),
    head: z.object({ method: z.string(), url: z.string().startsWith("/"), headers, actor: actorSchema.optional() }),
    body: z.instanceof(Buffer),
  }),
);
const headSchema = z.object({ status: z.int().min(100).max(599), headers });
const partRows = z.array(
  z.object({ number: z.number(), head: z.unknown(), bytes: z.instanceof(Buffer), is_last: z.boolean() }),
);
