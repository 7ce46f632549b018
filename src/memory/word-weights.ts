import type { StatementSync } from "node:sqlite";
import type { TimeSlices } from "../store/disk/time-slices.ts";
import { nearWords } from "./near-words.ts";
import { rarity, type Weights } from "./ranking.ts";
import { relatedWords, singulars } from "./related-words.ts";
import { matchOf, type Term } from "./search-terms.ts";

/**
 * How much each word of a question counts, for every section that has it.
 *
 * WORD-WEIGHTS-1. A section that names what is asked for without saying what it is ("violin", where instruments are
 *     asked for) is found too, but such a word counts less than one that was asked for.
 * WORD-WEIGHTS-2. In a very large memory the rarest words decide; the others are left out, and so are the words that
 *     nobody asked for.
 */
export interface QuestionWeights {
  asked: Weights[];
  /** For each word of the question, of the words related to it. */
  related: Weights[];
}

/** In a memory of more than those, a word that more than this part of them have says by being there nearly all that it says. */
const COMMON = 1 / 15;
/** How much a related word counts of what it would count if it were asked for. */
const RELATED = 0.3;
/** A related word that more sections have says little, and would take long. */
const MOST_RELATED = 2_000;
/** So many rows are taken before the clock is looked at. */
const STRIDE = 32;
/** Words that no section has and that are looked for under other spellings; each costs some hundred look-ups. */
const MOST_UNKNOWN = 4;
const MOST_LONGER = 20;

export class WordWeights {
  readonly #statement: (sql: string) => StatementSync;
  readonly #slices: TimeSlices;
  readonly #sections: number;
  readonly #weighed: number;

  /** Of an index with so many sections, of which one search weighs so many. */
  constructor(
    statement: (sql: string) => StatementSync,
    slices: TimeSlices,
    { sections, weighed }: { sections: number; weighed: number },
  ) {
    this.#statement = statement;
    this.#slices = slices;
    this.#sections = sections;
    this.#weighed = weighed;
  }

  async of(terms: readonly Term[]): Promise<QuestionWeights> {
    const known = await this.#asWritten(terms);
    if (this.#sections > this.#weighed) return { asked: await this.#ofRarest(known), related: [] };
    const asked: Weights[] = [];
    for (const term of known) {
      await this.#rest();
      asked.push(await this.#weights(term));
    }
    return { asked, related: await this.#ofRelated(known) };
  }

  async #ofRarest(terms: readonly Term[]): Promise<Weights[]> {
    const weights: Weights[] = [];
    for (const { word, having } of await this.#rarest(terms)) {
      await this.#rest();
      weights.push(having > this.#weighed * COMMON ? this.#presence(word) : await this.#weights(word));
    }
    return weights;
  }

  /** A section counts for one of the related words, the rarest that it has: a long list would count for a whole answer. */
  async #ofRelated(terms: readonly Term[]): Promise<Weights[]> {
    const asked = new Set(terms.flat().flatMap(singulars));
    const all: Weights[] = [];
    for (const [word] of terms) {
      const weights = new Map<number, number>();
      for (const related of relatedWords(word).filter((each) => !asked.has(each))) {
        await this.#rest();
        const sections = this.#presence([related], MOST_RELATED + 1);
        if (sections.size > MOST_RELATED) continue;
        for (const [id, weight] of sections) weights.set(id, Math.max(weights.get(id) ?? 0, RELATED * weight));
      }
      if (weights.size > 0) all.push(weights);
    }
    return all;
  }

  /** A word that no section has is looked for as it may have been meant: part of a compound, or a slip of the keyboard. */
  async #asWritten(terms: readonly Term[]): Promise<Term[]> {
    let unknown = 0;
    const written: Term[] = [];
    for (const term of terms) {
      await this.#rest();
      const isKnown = this.#sectionsWith(term, 1) > 0 || unknown++ >= MOST_UNKNOWN;
      written.push(isKnown ? term : [term[0], ...(await this.#near(term[0]))]);
    }
    return written;
  }

  async #near(word: string): Promise<string[]> {
    const longer = await this.#longerWords(word);
    return nearWords(word, { isKnown: (each) => this.#sectionsWith([each], 1) > 0, longer: () => longer });
  }

  /** Words of the index that begin or end with this. Every word is looked at, which in a large memory takes a while. */
  async #longerWords(part: string): Promise<string[]> {
    const longer: string[] = [];
    for (const { term } of this.#statement("select term from vocabulary").iterate()) {
      const word = String(term);
      if (word.length > part.length && (word.startsWith(part) || word.endsWith(part))) longer.push(word);
      if (longer.length === MOST_LONGER) break;
      if (this.#slices.isDue) await this.#slices.rest();
    }
    return longer;
  }

  async #rarest(terms: readonly Term[]): Promise<{ word: Term; having: number }[]> {
    const counted: { word: Term; having: number }[] = [];
    for (const word of terms) {
      await this.#rest();
      counted.push({ word, having: this.#sectionsWith(word, this.#weighed + 1) });
    }
    counted.sort((a, b) => a.having - b.having);
    let weighed = 0;
    return counted.filter(({ having }, at) => {
      weighed += having;
      return weighed <= this.#weighed || at === 0;
    });
  }

  /**
   * What a word says where it occurs once in a section of average length. bm25 looks up each section's length and takes
   * five times as long; a row for each section, instead of one list, would double the rest.
   */
  #presence(term: Term, most = Number.MAX_SAFE_INTEGER): Weights {
    const found = this.#statement(
      "select json_group_array(id) as ids from (select rowid as id from words where words match ? limit ?)",
    );
    const ids = JSON.parse(String(found.get(matchOf(term), most)?.ids)) as number[];
    const { ours } = rarity(this.#sections, ids.length);
    return new Map(ids.map((id) => [id, ours]));
  }

  async #weights(term: Term): Promise<Weights> {
    const weights = new Map<number, number>();
    const matches = this.#statement("select rowid as id, rank from words where words match ?");
    matches.setReturnArrays(true);
    for (const [id, rank] of matches.iterate(matchOf(term)) as unknown as Iterable<[number, number]>) {
      weights.set(id, -rank);
      if (weights.size % STRIDE === 0 && this.#slices.isDue) await this.#slices.rest();
    }
    const { theirs, ours } = rarity(this.#sections, weights.size);
    for (const [id, rank] of weights) weights.set(id, (rank / theirs) * ours);
    return weights;
  }

  #sectionsWith(term: Term, most: number): number {
    const counted = this.#statement(
      "select count(*) as sections from (select 1 from words where words match ? limit ?)",
    );
    return Number(counted.get(matchOf(term), most)?.sections);
  }

  async #rest(): Promise<void> {
    if (this.#slices.isDue) await this.#slices.rest();
  }
}
