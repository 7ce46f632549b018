import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * Removes what git and we ourselves had not finished when an earlier process was killed: half a pack may be as large as
 * all of the history. Only once for each repository in a process, because later such files may be those of a git at work.
 */
export async function removeLeftovers(dir: string): Promise<void> {
  if (cleaned.has(dir)) return;
  cleaned.add(dir);
  for (const folder of ["incoming", "outgoing"]) await rm(join(dir, folder), { recursive: true, force: true });
  const objects = join(dir, "objects");
  const folders = (await readdir(objects).catch(() => [])).filter(
    (name) => name === "pack" || /^[0-9a-f]{2}$/.test(name),
  );
  for (const folder of [objects, ...folders.map((name) => join(objects, name))]) {
    const unfinished = (await readdir(folder).catch(() => [])).filter((name) => /^(?:tmp|\.tmp)[_-]/.test(name));
    for (const name of unfinished) await rm(join(folder, name), { recursive: true, force: true });
  }
}

const cleaned = new Set<string>();
