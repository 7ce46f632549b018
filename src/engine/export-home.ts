import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openStore } from "../store/open-store.ts";
import type { Database } from "./database.ts";
import { EngineError } from "./engine-address.ts";
import { type ExportedTree, exportTree, treesOf } from "./export-tree.ts";
import { migrate } from "./migrations.ts";

export interface ExportPorts {
  clock: { now(): number };
  onTree(exported: ExportedTree, at: number, of: number): void;
  /** A tree of which only a part is in the engine: its import was interrupted. */
  onIncomplete(tree: string): void;
}

/** Everything is written here first. */
const STAGING = ".export";
/** In it: which engine it is from. */
const SOURCE = ".source";

/**
 * Writes all agents of the engine into a new home, which opens with files alone.
 *
 * EXPORT-HOME-1. Only into a folder that is new, empty, or of an export from the same engine that was interrupted.
 * EXPORT-HOME-2. Nothing is where an agent would be looked for before everything is written.
 */
export async function exportHome(database: Database, home: string, ports: ExportPorts): Promise<void> {
  const staging = join(home, STAGING);
  await begin(home, database.address.shown);
  await migrate(database);
  const trees = await treesOf(database);
  for (const [at, { tree, isReady }] of trees.entries()) {
    if (isReady) ports.onTree(await exportTree(database, tree, join(staging, tree)), at + 1, trees.length);
    else ports.onIncomplete(tree);
  }
  for (const name of await tops(staging)) await rename(join(staging, name), join(home, name));
  await rm(staging, { recursive: true });
  await (await openStore({ root: home, clock: ports.clock })).close();
}

async function begin(home: string, from: string): Promise<void> {
  const staging = join(home, STAGING);
  await mkdir(home, { recursive: true, mode: 0o700 });
  const names = await readdir(home);
  const before = await readFile(join(staging, SOURCE), "utf8").catch(() => undefined);
  if (before === undefined && names.some((name) => name !== STAGING))
    throw new EngineError(`${home} is not empty. Name a new folder to export to.`);
  if (before !== undefined && before !== from)
    throw new EngineError(
      `In ${home} an export from another engine (${before}) was interrupted. Finish that one, or name a new folder.`,
    );
  await mkdir(staging, { recursive: true, mode: 0o700 });
  await writeFile(join(staging, SOURCE), from, { mode: 0o600 });
  // It was interrupted while it moved what it had written to its place.
  for (const name of names) if (name !== STAGING) await rename(join(home, name), join(staging, name));
}

async function tops(staging: string): Promise<string[]> {
  return (await readdir(staging)).filter((name) => name !== SOURCE);
}
