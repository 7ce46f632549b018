import { DatabaseSync } from "node:sqlite";
import { STOPWORDS, wordsIn } from "../../src/memory/search-terms.ts";
import { sectionsOf } from "../../src/memory/sections.ts";

export interface Part {
  path: string;
  text: string;
}

export type Search = (question: string) => Part[] | Promise<Part[]>;

/**
 * What ours is measured against, on the same sections: the best line of what was measured on real dialogues (FTS5 with
 * porter, stopwords dropped, 0.2 of the score of the sections beside), written down apart from our own index.
 */
export function theLine(files: Readonly<Record<string, string>>): Search {
  const parts = partsOf(files);
  const database = new DatabaseSync(":memory:");
  database.exec("create virtual table line using fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')");
  const insert = database.prepare("insert into line (rowid, body) values (?, ?)");
  for (const [at, { path, text }] of parts.entries())
    insert.run(at, `${path.replaceAll(/\.md$|[/_-]/g, " ")}\n${text}`);
  const match = database.prepare("select rowid as at, rank from line where line match ? order by rank limit 100");
  return (question) => {
    const rows = match.all(
      keywords(question)
        .map((word) => `"${word}"`)
        .join(" OR "),
    );
    const scores = new Map(rows.map(({ at, rank }) => [Number(at), -Number(rank)]));
    const boosted = new Map(scores);
    for (const [at, score] of scores) {
      for (const beside of [at - 1, at + 1].filter((each) => parts[each]?.path === parts[at]?.path))
        boosted.set(beside, (boosted.get(beside) ?? 0) + 0.2 * score);
    }
    return best(parts, boosted);
  };
}

/** The seed's grep, with the sections that have the most of the words first. */
export function rankedGrep(files: Readonly<Record<string, string>>): Search {
  const parts = partsOf(files);
  return (question) => {
    const words = keywords(question);
    const counts = parts.map(({ text }, at): [number, number] => {
      const lower = text.toLowerCase();
      return [at, words.filter((word) => lower.includes(word)).length];
    });
    return best(parts, new Map(counts.filter(([, count]) => count > 0)));
  };
}

function partsOf(files: Readonly<Record<string, string>>): Part[] {
  return Object.entries(files).flatMap(([path, text]) =>
    sectionsOf(text).map(({ start, end }) => ({ path, text: text.slice(start, end) })),
  );
}

function keywords(question: string): string[] {
  return [...new Set(wordsIn(question))].filter((word) => !STOPWORDS.has(word));
}

function best(parts: readonly Part[], scores: ReadonlyMap<number, number>): Part[] {
  const order = [...scores].sort(([a, x], [b, y]) => y - x || a - b);
  return order.flatMap(([at]) => parts[at] ?? []);
}
