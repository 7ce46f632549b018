import { z } from "zod";
import type { Database } from "./database.ts";
import { EngineError } from "./engine-address.ts";
import { ENGINE_VERSION, engineVersion } from "./migrations.ts";

/** One thing that was looked at: good, worth knowing, or in the way. */
export interface EngineCheck {
  what: "connection" | "version" | "TLS" | "rights" | "tables" | "durability" | "clock" | "connections";
  state: "ok" | "warning" | "problem";
  text: string;
}

export interface EngineCheckPorts {
  /** This host's clock, in milliseconds. */
  now(): number;
  /** A clock that only goes forward. */
  elapsed(): number;
}

/**
 * What would keep a host from working with this engine, each in words. Changes nothing there.
 *
 * ENGINE-CHECK-1. Where there is no connection, that is the only result: everything else would follow from it.
 */
export async function checkEngine(database: Database, ports: EngineCheckPorts): Promise<EngineCheck[]> {
  try {
    const facts = await look(database, ports);
    const found = await engineVersion(database);
    return [
      connection(facts),
      version(facts),
      tls(facts),
      rights(facts, database),
      tables(found),
      durability(facts),
      clock(facts),
      connections(facts),
    ];
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return [{ what: "connection", state: "problem", text: error.message }];
  }
}

async function look(database: Database, { now, elapsed }: EngineCheckPorts) {
  const { schema } = database.address;
  // The first one also pays for the connection.
  await database.query("select 1");
  const trips: number[] = [];
  for (let round = 0; round < TRIPS; round++) {
    const began = elapsed();
    await database.query("select 1");
    trips.push(elapsed() - began);
  }
  const before = now();
  const [row] = await database.query(
    `select current_setting('server_version_num')::int as version, current_setting('server_version') as named,
       extract(epoch from clock_timestamp()) * 1000 as clock, pg_is_in_recovery() as is_standby,
       coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as has_tls,
       inet_server_addr() is null or host(inet_server_addr()) in ('127.0.0.1', '::1') as is_local,
       current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
       current_setting('max_connections')::int as max_connections,
       (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used_connections,
       current_user as role, current_database() as database,
       (select pg_has_role(nspowner, 'usage') from pg_namespace where nspname = $1) as owns_schema,
       has_database_privilege(current_database(), 'create') as may_create`,
    [schema],
  );
  const after = now();
  const trip = trips.toSorted((one, other) => one - other)[TRIPS >> 1] ?? 0;
  return { ...factsRow.parse(row), trip, skew: (before + after) / 2 };
}

type Facts = Awaited<ReturnType<typeof look>>;

function connection({ trip, role, database, is_standby }: Facts): EngineCheck {
  if (is_standby)
    return {
      what: "connection",
      state: "problem",
      text: "It is a standby and cannot be written to. Use the address of the primary.",
    };
  const slow = trip > SLOW_TRIP_MS;
  const text = `${role} on ${database}, ${trip.toFixed(1)} ms for a question and its answer`;
  return {
    what: "connection",
    state: slow ? "warning" : "ok",
    text: slow ? `${text}. Every turn waits for several: put the hosts near the engine.` : text,
  };
}

function version({ version, named }: Facts): EngineCheck {
  return version < OLDEST
    ? { what: "version", state: "problem", text: `PostgreSQL ${named} is too old: 14 or newer is needed.` }
    : { what: "version", state: "ok", text: `PostgreSQL ${named}` };
}

function tls({ has_tls, is_local }: Facts): EngineCheck {
  if (has_tls) return { what: "TLS", state: "ok", text: "The connection is encrypted." };
  if (is_local) return { what: "TLS", state: "ok", text: "Not encrypted; it does not leave this machine." };
  const text =
    "Not encrypted: anyone on the way can read and change everything. End the address with ?sslmode=verify-full";
  return { what: "TLS", state: "warning", text };
}

function rights({ owns_schema, may_create, role }: Facts, { address: { schema } }: Database): EngineCheck {
  if (owns_schema === true) return { what: "rights", state: "ok", text: `${role} owns the schema ${schema}.` };
  if (owns_schema === null && may_create)
    return { what: "rights", state: "ok", text: `${role} may create the schema ${schema}.` };
  const cure = `create schema ${schema} authorization ${role}`;
  const text =
    owns_schema === null
      ? `There is no schema ${schema}, and ${role} may not create it. As an administrator: ${cure}`
      : `The schema ${schema} belongs to another role. As an administrator: alter schema ${schema} owner to ${role}`;
  return { what: "rights", state: "problem", text };
}

function tables(found: number | undefined): EngineCheck {
  if (found === undefined) return { what: "tables", state: "ok", text: "None yet; they are made by the first use." };
  if (found > ENGINE_VERSION)
    return {
      what: "tables",
      state: "problem",
      text: `A newer Agiraph works here (version ${found} of its tables; this one knows ${ENGINE_VERSION}). Update Agiraph on this host.`,
    };
  const text =
    found === ENGINE_VERSION ? `Version ${found}` : `Version ${found}; the first use brings them to ${ENGINE_VERSION}.`;
  return { what: "tables", state: "ok", text };
}

function durability({ fsync, synchronous_commit }: Facts): EngineCheck {
  const off = [...(fsync === "on" ? [] : ["fsync"]), ...(synchronous_commit === "off" ? ["synchronous_commit"] : [])];
  if (off.length === 0) return { what: "durability", state: "ok", text: "What is committed is on disk." };
  const text = `${off.join(" and ")} is off: what was acknowledged can be lost when that machine fails. Turn it on.`;
  return { what: "durability", state: "problem", text };
}

function clock({ clock, skew }: Facts): EngineCheck {
  const seconds = Math.abs(clock - skew) / 1000;
  if (seconds < MOST_SKEW_S) return { what: "clock", state: "ok", text: "As this host's" };
  const text = `It differs from this host's by ${seconds.toFixed(0)} s. Times are taken from the engine; dates in texts come from here. Synchronise both (NTP).`;
  return { what: "clock", state: "warning", text };
}

function connections({ max_connections, used_connections }: Facts): EngineCheck {
  const free = max_connections - used_connections;
  const text = `${used_connections} of ${max_connections} in use`;
  return free < FEWEST_FREE
    ? {
        what: "connections",
        state: "warning",
        text: `${text}: a host needs up to ${FEWEST_FREE}. Raise max_connections.`,
      }
    : { what: "connections", state: "ok", text };
}

const TRIPS = 9;
const SLOW_TRIP_MS = 20;
const OLDEST = 140_000;
const MOST_SKEW_S = 2;
const FEWEST_FREE = 10;

const factsRow = z.object({
  version: z.number(),
  named: z.string(),
  clock: z.coerce.number(),
  is_standby: z.boolean(),
  has_tls: z.boolean(),
  is_local: z.boolean(),
  fsync: z.string(),
  synchronous_commit: z.string(),
  max_connections: z.number(),
  used_connections: z.number(),
  role: z.string(),
  database: z.string(),
  owns_schema: z.boolean().nullable(),
  may_create: z.boolean(),
});
