import { z } from "zod";
import type { Queries } from "./database.ts";
import { HOST_PATIENCE } from "./host.ts";

/** A host of an engine, as people see it. */
export interface ListedHost {
  id: string;
  name: string;
  /** Of the program there. */
  version: string;
  /** When it joined and was heard last, in seconds of the engine's clock. */
  since: number;
  heard: number;
  /** Not heard for so long that others take over what it has. */
  is_lost: boolean;
  is_draining: boolean;
  /** How many agents it has, and how many it took over from hosts that were lost. */
  agents: number;
  take_overs: number;
}

/** Those that are there, and those that were lost within a day, in the order in which they joined. */
export async function listHosts(queries: Queries): Promise<ListedHost[]> {
  const rows = await queries.query(
    `select host as id, name, version, extract(epoch from since)::float8 as since, extract(epoch from beat)::float8 as heard,
       beat < clock_timestamp() - $1::interval as is_lost, is_draining, take_overs,
       (select count(*)::int from trees where owner = host) as agents
     from hosts order by since, host`,
    [HOST_PATIENCE],
  );
  return hostRows.parse(rows);
}

/** Whether a host is to give everything away and take nothing new. By its name or id; says which hosts that are. */
export async function setDraining(queries: Queries, host: string, isDraining: boolean): Promise<string[]> {
  const rows = await queries.query<{ name: string }>(
    "update hosts set is_draining = $2 where name = $1 or host::text = $1 returning name",
    [host, isDraining],
  );
  return rows.map(({ name }) => name);
}

/** Another host that takes what this one does not; one of several by chance. */
export async function anotherHost(queries: Queries, self: string): Promise<{ id: string; name: string } | undefined> {
  const rows = await queries.query(
    `select host as id, name from hosts
     where host <> $1 and not is_draining and beat >= clock_timestamp() - $2::interval order by random() limit 1`,
    [self, HOST_PATIENCE],
  );
  return otherRows.parse(rows)[0];
}

const hostRows = z.array(
  z.object({
    ...{ id: z.uuid(), name: z.string(), version: z.string(), since: z.number(), heard: z.number() },
    ...{ is_lost: z.boolean(), is_draining: z.boolean(), agents: z.number(), take_overs: z.number() },
  }),
);
const otherRows = z.array(z.object({ id: z.uuid(), name: z.string() }));
