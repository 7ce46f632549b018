import { join } from "node:path";
import { openStore } from "../store/open-store.ts";
import type { Database } from "./database.ts";
import { rulesFor, treesIn } from "./home-trees.ts";
import { type ImportedTree, importTree } from "./import-tree.ts";
import { migrate } from "./migrations.ts";

export interface ImportPorts {
  clock: { now(): number };
  /** Where programs keep logins, below a home of theirs: they stay here. */
  loginFiles: readonly string[];
  onTree(imported: ImportedTree, at: number, of: number): void;
}

/**
 * Brings the agents of a home into the engine. The home stays as it is.
 *
 * IMPORT-HOME-1. With the home's lock: nobody works in it meanwhile, and its journal is empty.
 */
export async function importHome(database: Database, home: string, ports: ImportPorts): Promise<void> {
  const { clock, loginFiles, onTree } = ports;
  const store = await openStore({ root: home, clock });
  try {
    await migrate(database);
    const trees = await treesIn(home);
    for (const [at, tree] of trees.entries())
      onTree(await importTree(database, tree, join(home, tree), rulesFor(tree, loginFiles)), at + 1, trees.length);
  } finally {
    await store.close();
  }
}
