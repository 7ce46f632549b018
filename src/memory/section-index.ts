import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StampedFile } from "../store/memory-files.ts";
import { dateWords } from "./dates.ts";
import { type Hit, ranked, rarity, type Weights } from "./ranking.ts";
import { sectionsOf } from "./sections.ts";
import { matchOf, wordsToKeep } from "./words.ts";

/**
 * Which words are in which section. The text itself stays in its file: a section is a place in it.
 *
 * I1. Sections of a file have numbers in a row, so that neighbours are found by counting.
 * I2. A file is taken in whole or not at all, with the stamp it had before it was read: what changes meanwhile is seen
 *     by the next search.
 */
export const SCHEMA = `/* which words: raised when other words are taken in, so that older indexes are begun anew: 2 */
  create table file (id integer primary key, path text not null unique, stamp text not null);
  create table section (id integer primary key, file integer not null, headings text not null, "from" integer not null, "to" integer not null);
  create index section_of_file on section (file);
  create table vector (model text not null, hash text not null, value blob not null, primary key (model, hash)) without rowid;
  create virtual table words using fts5 (body, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2')`;

export interface Place {
  path: string;
  headings: string[];
  from: number;
  to: number;
}

/** So many sections are weighed by one search. In a memory that large, the rarest words decide and the others are left out. */
const WEIGHED = 8_000;

export class SectionIndex {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Makes the index say what the files say. `read` gives a file's text, or undefined when it cannot be read. */
  async refresh(files: readonly StampedFile[], read: (path: string) => Promise<string | undefined>): Promise<void> {
    const { changed, gone, known } = this.differences(files);
    if (changed.length + gone.length === 0) return;
    this.#database.exec("begin");
    try {
      // Taking sections out one by one costs more than beginning anew when most of them go.
      if (2 * (changed.length + gone.length) > known) {
        this.#database.exec("insert into words (words) values ('delete-all'); delete from section; delete from file");
        changed.splice(0, changed.length, ...files);
      }
      for (const path of gone) this.#remove(path);
      for (const { path, stamp } of changed) {
        this.#remove(path);
        const text = await read(path);
        if (text !== undefined) this.#add(path, stamp, text);
      }
      this.#database.exec("commit");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("rollback");
      throw error;
    }
  }

  differences(files: readonly StampedFile[]): { changed: StampedFile[]; gone: string[]; known: number } {
    const known = new Map(this.#all("select path, stamp from file").map((row) => [String(row.path), row.stamp]));
    const changed = files.filter(({ path, stamp }) => known.get(path) !== stamp);
    const there = new Set(files.map(({ path }) => path));
    return { changed, gone: [...known.keys()].filter((path) => !there.has(path)), known: known.size };
  }

  /** Best first. */
  search(words: readonly string[]): Hit[] {
    const sections = this.#size();
    const telling = sections <= WEIGHED ? words : this.#rarest(words);
    const weights = telling.map((word) => this.#weights(word, sections));
    return ranked(weights, (ids) => this.#filesOf(ids));
  }

  place(id: number): Place | undefined {
    const [row] = this.#all(
      'select path, headings, "from", "to" from section join file on file.id = section.file where section.id = ?',
      id,
    );
    if (!row) return undefined;
    const headings: string[] = String(row.headings).split("\n").filter(Boolean);
    return { path: String(row.path), headings, from: Number(row.from), to: Number(row.to) };
  }

  /** All section numbers, for whoever must look at every one. */
  ids(): number[] {
    return this.#all("select id from section order by id").map((row) => Number(row.id));
  }

  vector(model: string, hash: string): Float32Array | undefined {
    const [row] = this.#all("select value from vector where model = ? and hash = ?", model, hash);
    return row?.value instanceof Uint8Array ? new Float32Array(row.value.slice().buffer) : undefined;
  }

  keepVector(model: string, hash: string, vector: Float32Array): void {
    const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
    this.#run("insert or replace into vector values (?, ?, ?)", model, hash, bytes);
  }

  #rarest(words: readonly string[]): readonly string[] {
    const counted = words.map((word) => ({ word, sections: this.#sectionsWith(word) }));
    counted.sort((a, b) => a.sections - b.sections);
    let weighed = 0;
    const rare = counted.filter(({ sections }, at) => {
      weighed += sections;
      return weighed <= WEIGHED || at === 0;
    });
    return rare.map(({ word }) => word);
  }

  #weights(word: string, sections: number): Weights {
    const rows = this.#all("select rowid as id, rank from words where words match ?", matchOf([word]));
    const { theirs, ours } = rarity(sections, rows.length);
    return new Map(rows.map((row) => [Number(row.id), (-Number(row.rank) / theirs) * ours]));
  }

  #size(): number {
    return Number(this.#all("select count(*) as sections from section")[0]?.sections);
  }

  #sectionsWith(word: string): number {
    const counted = "select count(*) as sections from (select 1 from words where words match ? limit ?)";
    return Number(this.#all(counted, matchOf([word]), WEIGHED + 1)[0]?.sections);
  }

  #filesOf(ids: readonly number[]): ReadonlyMap<number, number> {
    const rows = this.#all(
      "select id, file from section where id in (select value from json_each(?))",
      JSON.stringify(ids),
    );
    return new Map(rows.map((row) => [Number(row.id), Number(row.file)]));
  }

  #add(path: string, stamp: string, text: string): void {
    const [file] = this.#all("insert into file (path, stamp) values (?, ?) returning id", path, stamp);
    let [{ next } = { next: 1 }] = this.#all("select coalesce(max(id), 0) + 1 as next from section") as [
      { next: number },
    ];
    const day = dateWords(text.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? "").join(" ");
    for (const { headings, start, end } of sectionsOf(text)) {
      const body = text.slice(start, end);
      // Its own heading is in the text already; those above it, and the file's name, say what it is about.
      const above = headings.filter((heading) => !body.startsWith("#") || !body.split("\n", 1)[0]?.includes(heading));
      const name = path.replace(/\.md$/, "");
      // A log says its day in its name, in a heading or in its first line: each part of it is of that day.
      const about = [name, name.replaceAll(/[/_-]/g, " "), day, ...above].join(" ");
      this.#run("insert into section values (?, ?, ?, ?, ?)", next, file?.id ?? 0, headings.join("\n"), start, end);
      this.#run("insert into words (rowid, body) values (?, ?)", next, wordsToKeep(`${about}\n${body}`));
      next += 1;
    }
  }

  #remove(path: string): void {
    const [file] = this.#all("delete from file where path = ? returning id", path);
    if (!file) return;
    this.#run("delete from words where rowid in (select id from section where file = ?)", file.id ?? 0);
    this.#run("delete from section where file = ?", file.id ?? 0);
  }

  #all(sql: string, ...values: SqlValue[]): Record<string, SqlValue>[] {
    return this.#statement(sql).all(...values) as Record<string, SqlValue>[];
  }

  #run(sql: string, ...values: SqlValue[]): void {
    this.#statement(sql).run(...values);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

type SqlValue = string | number | bigint | null | Uint8Array;
