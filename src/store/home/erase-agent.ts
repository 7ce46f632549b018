import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AgentId } from "../../protocol/index.ts";
import { openStore } from "../open-store.ts";
import { agentDir, agentsDir, damagedDir } from "../paths.ts";

export interface Erased {
  files: number;
  bytes: number;
}

const ERASED = ".erased-";

/**
 * Erases an agent permanently.
 *
 * ERASE-1. We hold the home's lock, and opening it has emptied the journal: nothing is left that could restore a file.
 * ERASE-2. The folder is renamed first: from then on there is no such agent, even if a crash interrupts the rest. What
 *     a crash left of an earlier agent is removed by the next call.
 */
export async function eraseAgent(root: string, id: AgentId, clock: { now(): number }): Promise<Erased> {
  const store = await openStore({ root, clock });
  try {
    const damaged = (await namesIn(damagedDir(root)))
      .filter((name) => name.includes(id))
      .map((name) => join(damagedDir(root), name));
    const erased = await sizeOf(agentDir(root, id), ...damaged);
    await rename(agentDir(root, id), join(agentsDir(root), `${ERASED}${id}`));
    for (const path of damaged) await rm(path, { force: true });
    for (const name of await namesIn(agentsDir(root)))
      if (name.startsWith(ERASED)) await rm(join(agentsDir(root), name), { recursive: true, force: true });
    return erased;
  } finally {
    await store.close();
  }
}

/** All files below, and how large they are. */
export async function sizeOf(...paths: string[]): Promise<Erased> {
  const total = { files: 0, bytes: 0 };
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) add(total, found.size);
    if (!found?.isDirectory()) continue;
    for (const entry of await readdir(path, { withFileTypes: true, recursive: true }))
      if (entry.isFile())
        add(total, (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0);
  }
  return total;
}

function add(total: Erased, bytes: number): void {
  total.files += 1;
  total.bytes += bytes;
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
