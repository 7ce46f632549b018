import { z } from "zod";
import type { ListedFile, Scope } from "../store/scope/scope.ts";
import { ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { editFileTool } from "./edit-file.ts";
import { fileErrorsAsResults } from "./file-refusals.ts";
import { type PicturesPort, pictureOutput } from "./pictures.ts";
import { searchTools } from "./search-files.ts";
import { MAX_LINES, textWindow } from "./text-window.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";

/** Reading, writing, editing, listing and searching within one participant's scope. A refusal is a result that says what to do instead. */
export function fileTools(scope: Scope, pictures?: PicturesPort): Tool[] {
  return [
    readFileTool(scope, pictures),
    writeFileTool(scope),
    editFileTool(scope),
    listFilesTool(scope),
    ...searchTools(scope),
  ];
}

const MAX_LISTED = 500;

// Made once: turning one into a JSON Schema costs more than running the tool.
const toRead = z.object({
  path: z.string(),
  offset: z.int().positive().optional().describe("First line."),
  limit: z.int().positive().optional(),
});
const toWrite = z.object({
  path: z.string().min(1),
  content: z.string(),
});
const toList = z.object({
  path: z.string().default(""),
  recursive: z.boolean().default(false),
});
const toReadRef = z.object({ ref_name: z.string() });

function readFileTool(scope: Scope, pictures: PicturesPort | undefined): Tool {
  return defineTool({
    name: "read_file",
    description: "Read a text file with line numbers, or a picture. Go on in a long one with offset.",
    repeatable: true,
    readOnly: true,
    parameters: toRead,
    run: ({ path, offset = 1, limit = MAX_LINES }, signal) =>
      fileErrorsAsResults(
        signal,
        async () => (await pictureOutput(scope, path, pictures)) ?? readText(scope, path, offset, limit),
      ),
  });
}

function writeFileTool(scope: Scope): Tool {
  return defineTool({
    name: "write_file",
    description: "Write a whole file. What is in no file is lost when your conversation is compacted.",
    repeatable: true,
    parameters: toWrite,
    run: ({ path, content }, signal) =>
      fileErrorsAsResults(
        signal,
        async () => `Wrote ${(await scope.writeFile(path, content)).bytes} bytes to ${path}.`,
      ),
  });
}

function listFilesTool(scope: Scope): Tool {
  return defineTool({
    name: "list_files",
    description: "List a folder; without path, all you can reach.",
    repeatable: true,
    readOnly: true,
    parameters: toList,
    run: ({ path, recursive }, signal) => fileErrorsAsResults(signal, () => listingText(scope, path, recursive)),
  });
}

/** `refs` are a node's: name → `node-1/published/report.md`, a file or a folder. */
export function readRefTool(scope: Scope, refs: Readonly<Record<string, string>>): Tool {
  const known = Object.entries(refs).map(([name, target]) => `${name} (${target})`);
  return defineTool({
    name: "read_ref",
    description: `Read an input of your node by its name: ${known.join(", ") || "there are none"}.`,
    repeatable: true,
    readOnly: true,
    parameters: toReadRef,
    run: ({ ref_name }, signal) =>
      fileErrorsAsResults(signal, async () => {
        const target = Object.hasOwn(refs, ref_name) ? refs[ref_name] : undefined;
        if (target === undefined)
          return refusal(`There is no ref "${ref_name}". You have: ${known.join(", ") || "none"}.`);
        return readRef(scope, target);
      }),
  });
}

async function readText(scope: Scope, path: string, offset: number, limit: number): Promise<ToolOutput> {
  const file = await scope.openChecked(path);
  try {
    const window = await textWindow(file, { offset, limit });
    if (window.kind === "binary")
      return refusal(`${path} is ${window.what}, ${file.size} bytes; it is not shown as text.`);
    const { text, first, last, total, unread } = window;
    if (total === 0) return `(${path} is empty.)`;
    if (last < first) return refusal(`${path} has ${total} lines; there is no line ${first}.`);
    const numbered = text
      .split("\n")
      .map((line, i) => `${first + i}\t${line}`)
      .join("\n");
    if (first === 1 && last === total && !unread) return numbered;
    const lines = unread ? `more than ${total}` : total;
    const next = last < total ? ` Go on with offset ${last + 1}.` : "";
    return `${numbered}\n\n[Lines ${first} to ${last} of ${lines} in ${path}.${next}]`;
  } finally {
    file.close();
  }
}

async function listingText(scope: Scope, path: string, recursive: boolean): Promise<string> {
  const { entries, more, tooDeep } = await scope.list(path, { recursive, limit: MAX_LISTED });
  if (entries.length === 0) return `(${path || "The top folder"} is empty.)`;
  return `${entries.map(entryLine).join("\n")}${cutNote(entries.length, more, tooDeep)}`;
}

function cutNote(shown: number, more: boolean, tooDeep: string | undefined): string {
  if (tooDeep !== undefined)
    return `\n\n[Folders that lie too deep are not opened, the first of them ${tooDeep}. List it by name, or use bash.]`;
  return more ? `\n\n[Only ${shown} entries are shown; there are more. List a folder of them.]` : "";
}

function entryLine({ path, kind, bytes }: ListedFile): string {
  switch (kind) {
    case "folder":
      return `${path}/`;
    case "file":
      return `${path} (${bytes} bytes)`;
    case "link":
      return `${path} (a link, not followed)`;
    case "special":
      return `${path} (not a regular file)`;
  }
}

/** A file is shown, a folder is listed; a folder with one file in it is as good as the file. */
async function readRef(scope: Scope, target: string): Promise<ToolOutput> {
  const path = publishedPath(target);
  if (path === undefined) return refusal(`The ref leads to ${target}, which is neither published nor given along.`);
  try {
    return await readText(scope, path, 1, MAX_LINES);
  } catch (error) {
    if (!(error instanceof ScopeRefusal && error.reason === "wrong_kind")) throw error;
  }
  const { entries } = await scope.list(path, { recursive: true, limit: MAX_LISTED });
  const files = entries.filter((entry) => entry.kind === "file");
  const [only] = files;
  if (only && files.length === 1) return readText(scope, only.path, 1, MAX_LINES);
  return `${path} is a folder:\n\n${await listingText(scope, path, true)}`;
}

/** `node-1/published/a.md` or `inputs/a.md`, with or without `nodes/` before it; a bare node stands for all it published. */
function publishedPath(target: string): string | undefined {
  const [node, published = "published", ...rest] = target
    .replace(/^nodes\//, "")
    .replace(/\/+$/, "")
    .split("/");
  return node && (published === "published" || published === "inputs")
    ? ["nodes", node, published, ...rest].join("/")
    : undefined;
}
