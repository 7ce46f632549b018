import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { changedAt, putFile, readPart, removeFile } from "../../../store/disk/foreign-folder.ts";
import { ignoreInClone, notIgnoredInClone } from "../../../store/run/clone-excludes.ts";
import { PROTOCOL_FILES } from "../../../store/run/publish.ts";
import type { SessionSetup } from "../session/session.ts";

/**
 * Writes what the program reads. In a new assignment the files of an earlier worker are emptied or removed; after a
 * restart what this one wrote stays.
 */
export async function writeTaskFiles(
  { cwd, system, words, context, how = HOW }: SessionSetup,
  isNew: boolean,
): Promise<void> {
  await putFile(cwd, "_task.md", `${words.trim()}\n\n${how}\n\n${system.trim()}\n`);
  await putFile(cwd, "_context.json", `${JSON.stringify(context ?? {}, null, 2)}\n`);
  if (!isNew) return;
  for (const name of ["_inbox.md", "_outbox.md"]) await putFile(cwd, name, "");
  for (const name of ["_result.md", "_checkpoint.md"]) removeFile(cwd, name);
}

/** In a clone, no commit has them. */
export async function hideTaskFiles(clone: string): Promise<void> {
  const names = await notIgnoredInClone(clone, PROTOCOL_FILES);
  const [taken] = names.filter((name) => existsSync(join(clone, name)));
  if (taken !== undefined)
    throw new Error(
      `The repository has a file ${taken} at its top, and this program is spoken to by a file of that name. Rename the file, or give this work to a worker of another kind.`,
    );
  await ignoreInClone(clone, names);
}

const HOW = `## How to speak

You work in the current folder, by files:
- \`_inbox.md\` grows with what you are told: by your team, and by people. Agiraph writes it, and says who speaks.
- To tell somebody something, append to \`_outbox.md\`: a line \`TO: name\`, your words, a line \`---\`. The coordinator is \`coordinator\`; everybody is \`*\`.
- To suggest further work, append a line \`SUGGEST: what and why\` and a line \`---\`.
- When a part is done, write a summary of it to \`_checkpoint.md\`.
- When all is done, write a summary to \`_result.md\`. That ends your work: what else is in this folder is then published.`;

/** A file that the program has written. */
export interface WrittenFile {
  text: string;
  /** The same until the file is written again. */
  stamp: string;
  isLineEnded: boolean;
}

/** Undefined where there is no such file, or nothing in it. */
export async function readWritten(cwd: string, name: string): Promise<WrittenFile | undefined> {
  const bytes = await readPart(cwd, name, 0, MAX_RESULT);
  const whole = bytes?.toString("utf8").replace(/\uFFFD+$/, "") ?? "";
  if (whole.trim() === "") return undefined;
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, 16);
  return { text: whole.trim(), stamp: `${hash}-${changedAt(cwd, name) ?? 0}`, isLineEnded: whole.endsWith("\n") };
}

const MAX_RESULT = 8 * 1024 * 1024;
