import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../disk/atomic-file.ts";
import { type Disk, readWhole } from "../disk/disk.ts";

/**
 * A home whose agents belong to an engine says so in `engine.json`: what is in its folders is a working copy, and
 * whatever would be recorded there alone would be lost with the next copy.
 */
export function engineMarkOf(disk: Disk, root: string): EngineMark | undefined {
  const text = readWhole(disk, markFile(root))?.toString();
  try {
    return text === undefined ? undefined : markSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export function markAsCopy(disk: Disk, root: string, mark: EngineMark): void {
  replaceFile(markFile(root), `${JSON.stringify(mark)}\n`, disk);
}

const markFile = (root: string): string => join(root, "engine.json");

const markSchema = z.object({
  /** Its address, as people may read it. */
  engine: z.string(),
  /** By which hosts are known to have had this home before. */
  home: z.uuid(),
});
export type EngineMark = z.infer<typeof markSchema>;
