import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { allFilesIn, type ForeignFile, putFile, readPart } from "../../store/disk/foreign-folder.ts";

/**
 * Copies files from one folder to another. No link is followed; files beyond the limits of number or size stay where
 * they are, which is noted. Returns the copied files.
 */
export async function copyFiles(
  from: string,
  to: string,
  { isMeant = () => true, placeOf = (file) => file, since = 0, note }: CopyOrder,
): Promise<string[]> {
  const copied: string[] = [];
  const { files, more } = await allFilesIn(from, [], BOUNDS);
  if (more) note(`There are too many files in ${from}, or they are nested too deeply: not all of them were looked at.`);
  for (const file of pathsOf(files).filter(isMeant)) {
    if ((await changedAt(join(from, file))) < since) continue;
    if (copied.length >= MOST_FILES) {
      note(`There are more than ${MOST_FILES} files; the rest stays in ${from}.`);
      break;
    }
    const bytes = await readPart(from, file, 0, MOST_BYTES + 1);
    if (bytes === undefined) continue;
    if (bytes.length > MOST_BYTES) {
      note(`${file} is too large to be copied; it stays in ${from}.`);
      continue;
    }
    await putFile(to, placeOf(file), bytes);
    copied.push(file);
  }
  return copied;
}

export interface CopyOrder {
  isMeant?(file: string): boolean;
  /** Where a file goes, as seen from the folder; by default where it was. */
  placeOf?(file: string): string;
  /** Only what was changed since, in milliseconds. */
  since?: number;
  note(text: string): void;
}

/** The regular files in a folder and below it, relative to it. */
export async function filesBelow(dir: string): Promise<string[]> {
  return pathsOf((await allFilesIn(dir, [], BOUNDS)).files);
}

export const BOUNDS = { folders: 20_000, names: 100_000 };

const pathsOf = (files: readonly ForeignFile[]) => files.map(({ path }) => path).toSorted();

async function changedAt(path: string): Promise<number> {
  return (await lstat(path).catch(() => undefined))?.ctimeMs ?? 0;
}

const MOST_FILES = 5_000;
export const MOST_BYTES = 64 * 1024 * 1024;
