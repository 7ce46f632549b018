import { closeFolder } from "../disk/folder.ts";
import { readPart } from "../disk/foreign-folder.ts";
import { openFolder } from "../disk/walk.ts";
import { writeWhole } from "../disk/whole-file.ts";

const GIT = ".git";
const MOST_BYTES = 1024 * 1024;

/** Of these paths in a clone, those that `ignoreInClone` was not called with yet. */
export async function notIgnoredInClone(clone: string, paths: readonly string[]): Promise<string[]> {
  const lines = new Set((await excludesOf(clone)).split("\n"));
  return paths.filter((path) => !lines.has(patternOf(path)));
}

/** From now on git ignores these paths in the clone, unless they are committed already. */
export async function ignoreInClone(clone: string, paths: readonly string[]): Promise<void> {
  const missing = (await notIgnoredInClone(clone, paths)).map(patternOf);
  if (missing.length === 0) return;
  const known = (await excludesOf(clone)).trimEnd();
  const text = [known, ...missing, ""].filter((line, at) => at > 0 || line !== "").join("\n");
  const info = openFolder(clone, [GIT, "info"], { createFrom: 1 });
  try {
    await writeWhole(info, "exclude", Buffer.from(text), "unsynced");
  } finally {
    closeFolder(info);
  }
}

async function excludesOf(clone: string): Promise<string> {
  return (await readPart(clone, `${GIT}/info/exclude`, 0, MOST_BYTES))?.toString("utf8") ?? "";
}

/** This path and no other, in the syntax of `.gitignore`. */
function patternOf(path: string): string {
  return `/${path.replace(/[\\*?[\] ]/g, "\\$&")}`;
}
