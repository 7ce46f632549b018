import { mkdir } from "node:fs/promises";
import { nodeDisk } from "../store/disk/node-disk.ts";
import { type EngineMark, engineMarkOf, markAsCopy } from "../store/home/engine-mark.ts";
import { openStore } from "../store/open-store.ts";
import { agentDir, EVENTS_FILE, isAgentId } from "../store/paths.ts";
import type { Database } from "./database.ts";
import { EngineError } from "./engine-address.ts";
import { treesIn } from "./home-trees.ts";

/**
 * Makes a home the working copy of an engine.
 *
 * ADOPT-1. Only if nothing would be lost by it: of every agent of the home the engine has at least as much. Otherwise it
 *     is refused, and nothing is changed.
 * ADOPT-2. From then on the home can be worked in only from that engine: `openRuntime` and `engine import` refuse it.
 */
export async function adoptHome(
  database: Database,
  home: string,
  { clock, newId }: { clock: { now(): number }; newId(): string },
): Promise<EngineMark> {
  const { shown } = database.address;
  const before = engineMarkOf(nodeDisk, home);
  if (before?.engine === shown) return before;
  if (before !== undefined)
    throw new EngineError(
      `The home ${home} is a working copy of another engine (${before.engine}). Give this one a home of its own: --home DIR`,
    );
  const own = await agentsIn(home, clock);
  const missing = await notIn(database, own);
  if (missing.length > 0)
    throw new EngineError(
      `The home ${home} has agents that the engine ${shown} does not have, or of which it has less (${missing.slice(0, 3).join(", ")}${missing.length > 3 ? ` and ${missing.length - 3} more` : ""}). Import them first: agiraph engine import. Or give this host another home: --home DIR`,
    );
  const mark = { engine: shown, home: newId() };
  await mkdir(home, { recursive: true, mode: 0o700 });
  markAsCopy(nodeDisk, home, mark);
  return mark;
}

/** What is recorded of each agent of the home, in bytes; with what a crash has left in the journal. */
async function agentsIn(home: string, clock: { now(): number }): Promise<Map<string, number>> {
  const trees = (await treesIn(home)).filter((tree) => tree.startsWith("agents/"));
  if (trees.length > 0) await (await openStore({ root: home, clock })).close();
  const ids = trees.map((tree) => tree.slice("agents/".length)).filter(isAgentId);
  const sized = ids.map((id) => [id, nodeDisk.size(`${agentDir(home, id)}/${EVENTS_FILE}`) ?? 0] as const);
  return new Map(sized.filter(([, bytes]) => bytes > 0));
}

async function notIn(database: Database, own: ReadonlyMap<string, number>): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `select each.id from unnest($1::text[], $2::bigint[]) as each (id, bytes)
     where not exists (select from streams where tree = 'agents/' || each.id and path = $3 and size >= each.bytes)
     order by each.id`,
    [[...own.keys()], [...own.values()], EVENTS_FILE],
  );
  return rows.map(({ id }) => id);
}
