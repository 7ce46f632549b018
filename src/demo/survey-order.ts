import type { ListedEntry } from "./tool-text.ts";
import { readListing } from "./tool-text.ts";

/**
 * The tasks that the coordinator gives to its workers, in words that people also read on the board. A worker sees
 * nothing else, so what is written here is also parsed here.
 */
export interface SurveyOrder {
  subject: string;
  /** Listed by the worker too, so that it knows which links lead nowhere. */
  folders: readonly string[];
  files: readonly ListedEntry[];
  remarks: readonly string[];
}

export interface JoinOrder {
  subject: string;
  refs: readonly string[];
  remarks: readonly string[];
}

export function surveyTask({ subject, folders, files, remarks }: SurveyOrder): string {
  return [
    `Survey ${subject}`,
    list("Folders", folders),
    list(
      "Files",
      files.map(({ path, bytes }) => `${path} (${bytes} bytes)`),
    ),
    ...remarks.map((remark) => `Note: ${remark}`),
    "Publish report.md for people, with nothing that is not in the files, and survey.json with the same findings, so that several surveys can become one.",
  ].join("\n\n");
}

export function readSurveyTask(task: string): SurveyOrder | undefined {
  const subject = /^Survey ([^\n]+)\n\nFolders:\n/.exec(task)?.[1];
  if (subject === undefined) return undefined;
  const { entries: files } = readListing(itemsOf("Files", task).join("\n"));
  return { subject, folders: itemsOf("Folders", task), files, remarks: remarksIn(task) };
}

export function joinTask({ subject, refs, remarks }: JoinOrder): string {
  return [
    `Join the surveys of ${subject}`,
    list("Refs", refs),
    ...remarks.map((remark) => `Note: ${remark}`),
    "Read them with read_ref. Publish report.md: the figures and oddities of all parts together, and a line on each file.",
  ].join("\n\n");
}

export function readJoinTask(task: string): JoinOrder | undefined {
  const subject = /^Join the surveys of ([^\n]+)\n\nRefs:\n/.exec(task)?.[1];
  return subject === undefined ? undefined : { subject, refs: itemsOf("Refs", task), remarks: remarksIn(task) };
}

function list(title: string, items: readonly string[]): string {
  return [`${title}:`, ...items.map((item) => `- ${item}`)].join("\n");
}

function itemsOf(title: string, task: string): string[] {
  const block = new RegExp(`^${title}:\\n((?:- .*\\n?)*)`, "m").exec(task)?.[1] ?? "";
  return block.split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
}

function remarksIn(task: string): string[] {
  return [...task.matchAll(/^Note: ([^\n]+)$/gm)].flatMap(([, remark]) => remark ?? []);
}
