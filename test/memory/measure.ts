import { DatabaseSync } from "node:sqlite";
import { termsToFind } from "../../src/memory/search-terms.ts";
import { SCHEMA, SectionIndex } from "../../src/memory/section-index.ts";
import type { Search } from "./line.ts";
import type { LongDialogue } from "./long-dialogue.ts";

export interface Dialogue extends Pick<LongDialogue, "days"> {
  questions: { kind: string; question: string; evidence: readonly number[] }[];
}

/** By kind of question, and for all. */
export type Figures = Record<string, { found: number; asked: number }>;

/** Adds to the figures which part of each question's evidence is among the first ten sections. */
export async function measure({ days, questions }: Dialogue, search: Search, ...all: Figures[]): Promise<void> {
  const said = new Map(days.flatMap(({ date, turns }) => turns.map(({ id, words }) => [id, { date, words }])));
  for (const { kind, question, evidence } of questions) {
    const parts = (await search(question)).slice(0, 10);
    const found = evidence.filter((id) => {
      const { date = "", words = "" } = said.get(id) ?? {};
      // What is said on several days counts only on its own.
      return parts.some(({ path, text }) => text.includes(words) && (path === "talks.md" || path.startsWith(date)));
    });
    for (const figures of all)
      for (const name of [kind, "all"]) {
        const { found: before, asked } = figures[name] ?? { found: 0, asked: 0 };
        figures[name] = { found: before + found.length / evidence.length, asked: asked + 1 };
      }
  }
}

export function recallOf(figures: Figures): Record<string, number> {
  const entries = Object.entries(figures).map(([kind, { found, asked }]) => [kind, +(found / asked).toFixed(3)]);
  return Object.fromEntries(entries);
}

/** Our own search, on an index in memory. */
export async function ours(files: Readonly<Record<string, string>>, weighed?: number): Promise<Search> {
  const database = new DatabaseSync(":memory:");
  database.exec(SCHEMA);
  const index = new SectionIndex(database, weighed === undefined ? {} : { weighed });
  const listed = Object.keys(files).map((path) => ({ path, bytes: 1, stamp: "1", changedAt: 0 }));
  await index.refresh(listed, async (path) => files[path]);
  return async (question) =>
    (await index.search(termsToFind(question))).flatMap(({ id }) => {
      const place = index.place(id);
      return place ? { path: place.path, text: files[place.path]?.slice(place.from, place.to) ?? "" } : [];
    });
}
