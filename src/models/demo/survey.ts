import { z } from "zod";
import { kindOf } from "./file-kind.ts";
import { fileNoteSchema } from "./file-note.ts";
import type { ListedEntry } from "./tool-text.ts";

export const SURVEYOR = "demo/surveyor";

/** A folder with everything below, a folder's own files only, or one file. */
export const placeSchema = z.object({ path: z.string(), reach: z.enum(["deep", "own", "file"]) });
export type Place = z.infer<typeof placeSchema>;

/** Everything that one survey found out. Published beside the report, so that several can become one. */
export const surveySchema = z.object({
  made_by: z.literal(SURVEYOR),
  /** What was surveyed, as a person would call it. */
  subject: z.string(),
  places: z.array(placeSchema),
  /** Folders that are there, for checking links. */
  folders: z.array(z.string()),
  /** Places of which the listing was cut off: more is there than this survey knows. */
  cut: z.array(z.string()),
  /** Links and other things that are no files. */
  others: z.array(z.string()),
  /** What the reader should know beforehand. */
  remarks: z.array(z.string()),
  notes: z.array(fileNoteSchema),
});
export type Survey = z.infer<typeof surveySchema>;

/** One value a line: the file tools show long files by lines, and cut lines that are too long. */
export function surveyText(survey: Survey): string {
  return `${JSON.stringify(survey, null, 1)}\n`;
}

export function parseSurvey(text: string): Survey | undefined {
  try {
    return surveySchema.parse(JSON.parse(text));
  } catch {
    return undefined; // not ours, or cut off; whoever asked says so
  }
}

export function joinSurveys(subject: string, parts: readonly Survey[], remarks: readonly string[]): Survey {
  const byPath = new Map(parts.flatMap(({ notes }) => notes).map((note) => [note.path, note]));
  const all = (list: (part: Survey) => readonly string[]) => [...new Set(parts.flatMap(list))].sort();
  return {
    made_by: SURVEYOR,
    subject,
    places: parts.flatMap(({ places }) => places),
    folders: all(({ folders }) => folders),
    cut: all(({ cut }) => cut),
    others: all(({ others }) => others),
    remarks: [...new Set([...remarks, ...parts.flatMap(({ remarks }) => remarks)])],
    notes: [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
}

/** Dependencies are other people's files; the tools do not open them by themselves either. */
export function isForeign(folder: string): boolean {
  return /(?:^|\/)node_modules$/.test(folder);
}

/** Made by programs from other files, so read last. */
const DERIVED = /\/(?:dist|build|out|target|coverage|vendor|venv|__pycache__)\//;

/** Which files to read, when there is no room for all: prose before code before data, the upper folders first. */
export function worthReading(files: readonly ListedEntry[], most: number): ListedEntry[] {
  const rank = ({ path }: ListedEntry) => {
    const { family, name } = kindOf(path);
    const depth = path.split("/").length;
    if (name === "lock file" || DERIVED.test(path)) return 400 + depth;
    if (/(?:^|\/)readme[^/]*$/i.test(path)) return depth;
    return { prose: 100, code: 200, data: 300, binary: 400 }[family] + depth;
  };
  return files
    .filter(({ path, bytes }) => bytes > 0 && kindOf(path).family !== "binary")
    .map((file) => ({ file, rank: rank(file) }))
    .sort((a, b) => a.rank - b.rank || (a.file.path < b.file.path ? -1 : 1))
    .slice(0, most)
    .map(({ file }) => file)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
