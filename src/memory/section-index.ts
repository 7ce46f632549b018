import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StampedFile } from "../store/memory-files.ts";
import { dateWords, dayNamedIn } from "./dates.ts";
import { nearWords } from "./near-words.ts";
import { type Hit, newerFirst, ranked, rarity, type Weights } from "./ranking.ts";
import { type Section, sectionsOf } from "./sections.ts";
import { matchOf, type Term, wordsToKeep } from "./words.ts";

/**
 * Which words are in which section. The text itself stays in its file: a section is a place in it.
 *
 * I1. Sections of a file have numbers in a row, so that neighbours are found by counting.
 * I2. A file is taken in whole or not at all, with the stamp it had before it was read: what changes meanwhile is seen
 *     by the next search.
 * I3. Taking in files never holds up the process for longer than a few hundred sections take.
 */
export const SCHEMA = `/* which words: raised when other words are taken in, so that older indexes are begun anew: 3 */
  create table file (id integer primary key, path text not null unique, stamp text not null);
  create table section (id integer primary key, file integer not null, headings text not null, "from" integer not null, "to" integer not null, at real not null);
  create index section_of_file on section (file);
  create index section_by_age on section (at);
  create table vector (model text not null, hash text not null, value blob not null, primary key (model, hash)) without rowid;
  create virtual table words using fts5 (body, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2');
  create virtual table vocabulary using fts5vocab (words, row)`;

export interface Place {
  path: string;
  headings: string[];
  from: number;
  to: number;
  /** Of when it is, in milliseconds: the day it names in its heading or file name, else when its file was changed. */
  at: number;
}

/** So many sections are weighed by one search. In a memory that large, the rarest words decide and the others are left out. */
const WEIGHED = 30_000;
const SECTIONS_AT_ONCE = 200;
/** Words that no section has and that are looked for under other spellings; each costs some hundred look-ups. */
const MOST_UNKNOWN = 4;

export class SectionIndex {
  readonly #database: DatabaseSync;
  readonly #weighed: number;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, { weighed = WEIGHED }: { weighed?: number } = {}) {
    this.#database = database;
    this.#weighed = weighed;
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
      for (const file of changed) {
        this.#remove(file.path);
        const text = await read(file.path);
        if (text !== undefined) await this.#add(file, text);
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
  search(terms: readonly Term[]): Hit[] {
    const sections = this.#size();
    const known = this.#asWritten(terms);
    const telling = sections <= this.#weighed ? known : this.#rarest(known);
    const weights = telling.map((term) => this.#weights(term, sections));
    const hits = ranked(weights, (ids) => this.#filesOf(ids));
    return newerFirst(hits, weights, this.#ages(hits));
  }

  place(id: number): Place | undefined {
    const [row] = this.#all(
      'select path, headings, "from", "to", at from section join file on file.id = section.file where section.id = ?',
      id,
    );
    if (!row) return undefined;
    const headings: string[] = String(row.headings).split("\n").filter(Boolean);
    const [from, to, at] = [row.from, row.to, row.at].map(Number) as [number, number, number];
    return { path: String(row.path), headings, from, to, at };
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

  /** Vectors of texts that are no longer there go with them. */
  forgetVectorsBut(model: string, hashes: ReadonlySet<string>): void {
    this.#run(
      "delete from vector where model = ? and hash not in (select value from json_each(?))",
      model,
      JSON.stringify([...hashes]),
    );
  }

  /** A word that no section has is looked for as it may have been meant: part of a compound, or a slip of the keyboard. */
  #asWritten(terms: readonly Term[]): Term[] {
    let unknown = 0;
    return terms.map((term) => {
      if (this.#sectionsWith(term, 1) > 0 || unknown++ >= MOST_UNKNOWN) return term;
      const near = nearWords(term[0], {
        isKnown: (word) => this.#sectionsWith([word], 1) > 0,
        longer: (part) => this.#longerWords(part),
      });
      return [term[0], ...near];
    });
  }

  /** Words of the index that begin or end with this. */
  #longerWords(part: string): string[] {
    const rows = this.#all(
      "select term from vocabulary where length(term) > ? and (substr(term, 1, ?) = ? or substr(term, -?) = ?) limit 20",
      ...[part.length, part.length, part, part.length, part],
    );
    return rows.map((row) => String(row.term));
  }

  /** 0 for the newest section, 1 for the oldest. */
  #ages(hits: readonly Hit[]): (id: number) => number {
    const [span] = this.#all("select (select min(at) from section) as oldest, (select max(at) from section) as newest");
    const [oldest, newest] = [Number(span?.oldest), Number(span?.newest)];
    const rows = this.#all(
      "select id, at from section where id in (select value from json_each(?))",
      JSON.stringify(hits.map(({ id }) => id)),
    );
    const ages = new Map(rows.map(({ id, at }) => [Number(id), (newest - Number(at)) / Math.max(1, newest - oldest)]));
    return (id) => ages.get(id) ?? 1;
  }

  #rarest(terms: readonly Term[]): readonly Term[] {
    const counted = terms.map((word) => ({ word, sections: this.#sectionsWith(word, this.#weighed + 1) }));
    counted.sort((a, b) => a.sections - b.sections);
    let weighed = 0;
    const rare = counted.filter(({ sections }, at) => {
      weighed += sections;
      return weighed <= this.#weighed || at === 0;
    });
    return rare.map(({ word }) => word);
  }

  #weights(term: Term, sections: number): Weights {
    const rows = this.#all("select rowid as id, rank from words where words match ?", matchOf(term));
    const { theirs, ours } = rarity(sections, rows.length);
    return new Map(rows.map((row) => [Number(row.id), (-Number(row.rank) / theirs) * ours]));
  }

  #size(): number {
    return Number(this.#all("select count(*) as sections from section")[0]?.sections);
  }

  #sectionsWith(term: Term, most: number): number {
    const counted = "select count(*) as sections from (select 1 from words where words match ? limit ?)";
    return Number(this.#all(counted, matchOf(term), most)[0]?.sections);
  }

  #filesOf(ids: readonly number[]): ReadonlyMap<number, number> {
    const rows = this.#all(
      "select id, file from section where id in (select value from json_each(?))",
      JSON.stringify(ids),
    );
    return new Map(rows.map((row) => [Number(row.id), Number(row.file)]));
  }

  async #add({ path, stamp, changedAt }: StampedFile, text: string): Promise<void> {
    const [file] = this.#all("insert into file (path, stamp) values (?, ?) returning id", path, stamp);
    let [{ next } = { next: 1 }] = this.#all("select coalesce(max(id), 0) + 1 as next from section") as [
      { next: number },
    ];
    const firstLine = text.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? "";
    const day = dateWords(firstLine).join(" ");
    const ofFile = dayNamedIn(path) ?? dayNamedIn(firstLine);
    const name = path.replace(/\.md$/, "");
    for (const section of sectionsOf(text)) {
      const { headings, start, end } = section;
      const body = text.slice(start, end);
      // Its own heading is in the text already; those above it, and the file's name, say what it is about.
      const above = headings.filter((heading) => !body.startsWith("#") || !body.split("\n", 1)[0]?.includes(heading));
      // A log says its day in its name, in a heading or in its first line: each part of it is of that day.
      const about = [name, name.replaceAll(/[/_-]/g, " "), day, ...above].join(" ");
      const at = timeOf(section, ofFile, text.length) ?? changedAt;
      this.#run(
        "insert into section values (?, ?, ?, ?, ?, ?)",
        next,
        file?.id ?? 0,
        headings.join("\n"),
        start,
        end,
        at,
      );
      this.#run("insert into words (rowid, body) values (?, ?)", next, wordsToKeep(`${about}\n${body}`));
      next += 1;
      if (next % SECTIONS_AT_ONCE === 0) await nextTurn();
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

const DAY_MS = 86_400_000;

/** What stands lower in a log was written later: within its day, its place tells. Undefined where no day is named. */
function timeOf({ headings, start }: Section, ofFile: number | undefined, length: number): number | undefined {
  const day =
    headings
      .toReversed()
      .map(dayNamedIn)
      .find((named) => named !== undefined) ?? ofFile;
  return day === undefined ? undefined : day + (DAY_MS * start) / (length + 1);
}

type SqlValue = string | number | bigint | null | Uint8Array;
