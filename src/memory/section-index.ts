import type { DatabaseSync, StatementSync } from "node:sqlite";
import { TimeSlices } from "../store/disk/time-slices.ts";
import type { StampedFile } from "../store/run/memory-files.ts";
import { newerFirst, rankedSections, type SectionHit } from "./ranking.ts";
import type { Term } from "./search-terms.ts";
import { sectionRows } from "./section-rows.ts";
import { WordWeights } from "./word-weights.ts";

/**
 * Which words are in which section. The text itself stays in its file: a section is a range of it.
 *
 * SECTION-INDEX-1. Sections of a file have consecutive numbers, so that neighbours are found by counting.
 * SECTION-INDEX-2. A file is indexed whole or not at all, with the stamp it had before it was read: the next search
 *     notices later changes.
 * SECTION-INDEX-3. What was computed for a text (its vectors) is deleted when no section contains it any more,
 *     whichever search notices.
 * SECTION-INDEX-4. Neither indexing nor searching blocks the process: both work in slices of a few milliseconds.
 */
export const SCHEMA = `/* which words: raised when other words are taken in, so that older indexes are begun anew: 6 */
  create table file (id integer primary key, path text not null unique, stamp text not null);
  create table section (id integer primary key, file integer not null, headings text not null, "from" integer not null, "to" integer not null, at real not null, names_day integer not null, hash text not null);
  create index section_of_file on section (file);
  create index section_by_age on section (at);
  create index section_by_hash on section (hash);
  create table vector (hash text not null, model text not null, value blob not null, primary key (hash, model)) without rowid;
  create virtual table words using fts5 (body, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2');
  create virtual table vocabulary using fts5vocab (words, row)`;

export interface SectionPlace {
  path: string;
  headings: string[];
  from: number;
  to: number;
  /** Of when it is, in milliseconds: the day it names in its heading or file name, else when its file was changed. */
  at: number;
  /** It names its day, which is kept as if it were UTC; else `at` is an instant, on another day elsewhere. */
  namesDay: boolean;
}

/** So many sections are weighed by one search. In a memory that large, the rarest words decide and the others are left out. */
const WEIGHED = 30_000;

export class SectionIndex {
  readonly #database: DatabaseSync;
  readonly #weighed: number;
  readonly #statements = new Map<string, StatementSync>();
  readonly #slices = new TimeSlices();
  /** The texts that were taken out; some of them may be said elsewhere. */
  readonly #unsaid = new Set<string>();

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
        for (const { hash } of this.#all("select distinct hash from vector")) this.#unsaid.add(String(hash));
      }
      for (const path of gone) await this.#remove(path);
      for (const file of changed) {
        await this.#remove(file.path);
        const text = await read(file.path);
        if (text !== undefined) await this.#add(file, text);
      }
      await this.#forgetVectors();
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
  async search(terms: readonly Term[]): Promise<SectionHit[]> {
    const size = { sections: this.#size(), weighed: this.#weighed };
    const weights = new WordWeights((sql) => this.#statement(sql), this.#slices, size);
    const { asked, related } = await weights.of(terms);
    const hits = await rankedSections([...asked, ...related], (ids) => this.#filesOf(ids), this.#slices);
    return newerFirst(hits, asked, this.#ages(hits));
  }

  place(id: number): SectionPlace | undefined {
    const [row] = this.#all(
      'select path, headings, "from", "to", at, names_day from section join file on file.id = section.file where section.id = ?',
      id,
    );
    if (!row) return undefined;
    const headings: string[] = String(row.headings).split("\n").filter(Boolean);
    const [from, to, at] = [row.from, row.to, row.at].map(Number) as [number, number, number];
    return { path: String(row.path), headings, from, to, at, namesDay: row.names_day === 1 };
  }

  /** All sections, for anyone who must look at every one. */
  hashes(): { id: number; hash: string }[] {
    return this.#all("select id, hash from section order by id").map(({ id, hash }) => ({
      id: Number(id),
      hash: String(hash),
    }));
  }

  vector(model: string, hash: string): Float32Array | undefined {
    const [row] = this.#all("select value from vector where model = ? and hash = ?", model, hash);
    return row?.value instanceof Uint8Array ? new Float32Array(row.value.slice().buffer) : undefined;
  }

  keepVector(model: string, hash: string, vector: Float32Array): void {
    const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
    this.#run("insert or replace into vector (hash, model, value) values (?, ?, ?)", hash, model, bytes);
  }

  async #forgetVectors(): Promise<void> {
    for (const hash of this.#unsaid) {
      this.#run("delete from vector where hash = ? and not exists (select 1 from section where hash = ?)", hash, hash);
      await this.#rest();
    }
    this.#unsaid.clear();
  }

  /** 0 for the newest section, 1 for the oldest. */
  #ages(hits: readonly SectionHit[]): (id: number) => number {
    const [span] = this.#all("select (select min(at) from section) as oldest, (select max(at) from section) as newest");
    const [oldest, newest] = [Number(span?.oldest), Number(span?.newest)];
    const rows = this.#all(
      "select id, at from section where id in (select value from json_each(?))",
      JSON.stringify(hits.map(({ id }) => id)),
    );
    const ages = new Map(rows.map(({ id, at }) => [Number(id), (newest - Number(at)) / Math.max(1, newest - oldest)]));
    return (id) => ages.get(id) ?? 1;
  }

  #size(): number {
    return Number(this.#all("select count(*) as sections from section")[0]?.sections);
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
    for (const { headings, start, end, at, hash, words } of sectionRows(path, text)) {
      this.#run(
        "insert into section values (?, ?, ?, ?, ?, ?, ?, ?)",
        next,
        file?.id ?? 0,
        headings.join("\n"),
        start,
        end,
        at ?? changedAt,
        at === undefined ? 0 : 1,
        hash,
      );
      this.#run("insert into words (rowid, body) values (?, ?)", next, words);
      next += 1;
      await this.#rest();
    }
  }

  async #remove(path: string): Promise<void> {
    const [file] = this.#all("delete from file where path = ? returning id", path);
    if (!file) return;
    for (const { id, hash } of this.#all("select id, hash from section where file = ?", file.id ?? 0)) {
      this.#run("delete from words where rowid = ?", id ?? 0);
      this.#unsaid.add(String(hash));
      await this.#rest();
    }
    this.#run("delete from section where file = ?", file.id ?? 0);
  }

  async #rest(): Promise<void> {
    if (this.#slices.isDue) await this.#slices.rest();
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
