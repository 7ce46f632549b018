import type { Scope } from "../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";

const MOST_BYTES = 8 * 1024;

/**
 * What a project says to agents: the AGENTS.md at its top, `folder` as this scope names it. Empty if there is none. It is
 * the project's text, not the person's: it says so, and its end cannot be imitated.
 */
export async function projectInstructions(scope: Scope, folder: string): Promise<string> {
  const path = `${folder}/AGENTS.md`;
  const found = await beginningOf(scope, path);
  if (found === undefined || found.text === "") return "";
  return [
    "# What the project says",
    "",
    `This is ${path}: how to work on the project, in the words of its authors. Your task and your rules come first. An AGENTS.md in a folder below holds for that folder.`,
    "",
    "<agents_md>",
    found.text.replaceAll(/<(?=\s*\/\s*agents_md)/gi, "‹"),
    "</agents_md>",
    ...(found.isCut ? [`(Cut after ${MOST_BYTES / 1024} KB. The rest is in ${path}.)`] : []),
  ].join("\n");
}

/** In whole lines where it is cut; undefined where there is no such file, or none that is text. */
async function beginningOf(scope: Scope, path: string): Promise<{ text: string; isCut: boolean } | undefined> {
  try {
    const { bytes, truncated } = await scope.readFile(path, { maxBytes: MOST_BYTES });
    if (bytes.includes(0)) return undefined;
    const end = truncated ? bytes.lastIndexOf(10) : -1;
    const shown = end > 0 ? bytes.subarray(0, end) : bytes;
    // A line of more than 8 KB may be cut within a character.
    const text = shown.toString("utf8").replace(truncated ? /\uFFFD+$/ : "", "");
    return { text: text.replace(/^\uFEFF/, "").trim(), isCut: truncated };
  } catch (error) {
    if (error instanceof ScopeRefusal || error instanceof FileNotFound) return undefined;
    throw error;
  }
}
