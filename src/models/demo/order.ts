import type { Place } from "./survey.ts";

/**
 * The briefs that the coordinator gives to its workers, in words that people read on the board too. A worker sees
 * nothing else, so what is written here is read back here.
 */
export interface SurveyOrder {
  subject: string;
  places: Place[];
  /** How many files to read. */
  atMost: number;
  remarks: string[];
}

export interface JoinOrder {
  subject: string;
  /** Everything that the parts cover together; empty when one of them is missing. */
  places: Place[];
  refs: string[];
  remarks: string[];
}

export function surveyTask({ subject, places, atMost, remarks }: SurveyOrder): string {
  return [
    `Survey ${subject}`,
    placesText(places),
    ...remarks.map((remark) => `Note: ${remark}`),
    `Read at most ${atMost} files.`,
    "Publish report.md for people (titles, sizes, outlines, themes, oddities; nothing that is not in the files) and survey.json with the same findings, so that several surveys can become one.",
  ].join("\n\n");
}

export function readSurveyTask(task: string): SurveyOrder | undefined {
  const head = /^Survey ([^\n]+)\n\nPlaces:\n/.exec(task);
  const atMost = /^Read at most (\d+) files\.$/m.exec(task)?.[1];
  if (!head?.[1] || !atMost) return undefined;
  return { subject: head[1], places: placesIn(task), atMost: Number(atMost), remarks: remarksIn(task) };
}

export function joinTask({ subject, places, refs, remarks }: JoinOrder): string {
  return [
    `Join the surveys of ${subject}`,
    `Refs:\n${refs.map((ref) => `- ${ref}`).join("\n")}`,
    ...(places.length > 0 ? [placesText(places)] : []),
    ...remarks.map((remark) => `Note: ${remark}`),
    "Read them with read_ref. Publish report.md: the figures, themes and oddities of all parts together, and one line on each file.",
  ].join("\n\n");
}

export function readJoinTask(task: string): JoinOrder | undefined {
  const head = /^Join the surveys of ([^\n]+)\n\nRefs:\n((?:- [\w-]+\n?)+)/.exec(task);
  if (!head?.[1]) return undefined;
  const refs = [...(head[2] ?? "").matchAll(/^- ([\w-]+)$/gm)].flatMap(([, ref]) => ref ?? []);
  return { subject: head[1], places: placesIn(task), refs, remarks: remarksIn(task) };
}

const REACH = { deep: "and everything below", own: "its own files only", file: "this file" } as const;

function placesText(places: readonly Place[]): string {
  return `Places:\n${places.map(({ path, reach }) => `- ${path} (${REACH[reach]})`).join("\n")}`;
}

function placesIn(task: string): Place[] {
  const reaches = ["deep", "own", "file"] as const;
  return task.split("\n").flatMap((line) => {
    const reach = reaches.find((name) => line.startsWith("- ") && line.endsWith(` (${REACH[name]})`));
    return reach ? [{ path: line.slice(2, -(REACH[reach].length + 3)), reach }] : [];
  });
}

function remarksIn(task: string): string[] {
  return [...task.matchAll(/^Note: ([^\n]+)$/gm)].flatMap(([, remark]) => remark ?? []);
}
