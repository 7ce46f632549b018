import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentId, FactType } from "../../src/protocol/index.ts";
import type { TestServer } from "../../src/testing/start-server.ts";
import { type TemporaryHome, temporaryHome } from "../../src/testing/temporary-home.ts";

/** Homes made by an earlier version, kept as they were: test/fixtures/homes/README.md. */
export const EARLIER_HOMES = ["ordinary", "every-fact"] as const;
export type EarlierHome = (typeof EARLIER_HOMES)[number];

const folder = fileURLToPath(new URL("../fixtures/homes", import.meta.url));
export const placeOf = (name: EarlierHome): string => join(folder, name);

/** A copy to open, with the modes and the empty folders that git does not keep. */
export async function copyOf(name: EarlierHome): Promise<TemporaryHome> {
  const home = await temporaryHome();
  const modes: Record<string, string> = JSON.parse(readFileSync(join(folder, `${name}.modes.json`), "utf8"));
  const paths = Object.keys(modes);
  for (const path of paths) if (path.endsWith("/")) mkdirSync(join(home.path, path), { recursive: true });
  cpSync(placeOf(name), home.path, { recursive: true });
  // What is inside a folder comes before the folder: some may not be written.
  for (const path of paths.toReversed()) await chmod(join(home.path, path), Number.parseInt(modes[path] ?? "", 8));
  return home;
}

/** What a person saw in it when it was made. */
export function expectedIn(name: EarlierHome): unknown {
  return JSON.parse(readFileSync(join(folder, `${name}.seen.json`), "utf8"));
}

/** Every file of a home, by its path. */
export function filesOf(home: string): Map<string, Buffer> {
  const paths = readdirSync(home, { recursive: true, encoding: "utf8" }).map((path) => join(home, path));
  const files = paths.filter((path) => statSync(path).isFile()).toSorted();
  return new Map(files.map((path) => [relative(home, path), readFileSync(path)]));
}

/** Everything that can be seen of a home without doing anything in it: over HTTP, and the folds themselves. */
export async function seenIn(server: TestServer): Promise<unknown> {
  const list = (await get(server, "/agents?archived=all")) as { agents: { id: AgentId }[] };
  const agents: Record<string, unknown> = {};
  for (const { id } of list.agents) agents[id] = await agentSeen(server, id);
  return {
    ...{ list, inbox: await get(server, "/inbox"), people: await get(server, "/workers") },
    ...{ meshes: await get(server, "/meshes"), agents },
  };
}

async function agentSeen(server: TestServer, id: AgentId): Promise<unknown> {
  const of = (path: string) => get(server, `/agents/${id}/${path}`);
  const board = (await of("board")) as { nodes: { id: string }[] };
  const nodes: Record<string, unknown> = {};
  for (const node of board.nodes) {
    const { log, ...rest } = (await of(`board/${node.id}`)) as { log: { events: unknown[] } };
    nodes[node.id] = { ...rest, log: log.events.length };
  }
  const workers = (await of("workers")) as { workers: { id: string }[] };
  const entries: Record<string, unknown> = {};
  for (const worker of workers.workers)
    entries[worker.id] = countBy(
      ((await of(`workers/${worker.id}/conversation?limit=${MOST}`)) as { entries: { role: string }[] }).entries,
      ({ role }) => role,
    );
  const { events } = (await of(`events?after=0&limit=${MOST}`)) as { events: { type: FactType }[] };
  return {
    ...{ agent: await get(server, `/agents/${id}`), board, nodes, workers, entries },
    ...{ questions: await of("questions"), permissions: await of("permissions"), triggers: await of("triggers") },
    conversation: await of(`conversation?limit=${MOST}`),
    ...{ memory: await of("memory"), files: await of(`workspace?recursive=true&limit=${MOST}`) },
    events: countBy(events, ({ type }) => type),
    // As it would be read from a file: what is undefined is not there.
    situation: JSON.parse(JSON.stringify(await server.runtime.situation(id))),
  };
}

/** Of a page: no log or folder of these homes has more. */
const MOST = 1000;

async function get(server: TestServer, path: string): Promise<unknown> {
  const { status, body } = await server.get(path);
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}

function countBy<T>(items: readonly T[], key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
