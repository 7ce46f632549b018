import type { TimeSlices } from "../store/disk/time-slices.ts";
import { differ, SAME_SUBJECT, type Statement } from "./statements.ts";

/**
 * An index of statements by their words, to find those that differ without comparing all pairs.
 *
 * LIKE-1. None is missed. Of two that differ, the shorter shares more than 0.6 of its words with the other, so any 0.4
 *     of its words include a shared one. We take its rarest words, since few other statements have them.
 */
export class LikeStatements {
  readonly #statements: readonly Statement[];
  /** By word, who has it, in their order. */
  readonly #having = new Map<string, number[]>();
  /** By word, those of whose rarest words it is one. */
  readonly #rareIn = new Map<string, number[]>();

  /** In which round one was last compared. */
  readonly #rounds: Uint32Array;
  #round = 0;
  /** How many pairs were compared so far. */
  compared = 0;

  private constructor(statements: readonly Statement[]) {
    this.#statements = statements;
    this.#rounds = new Uint32Array(statements.length);
  }

  static async of(statements: readonly Statement[], slices: TimeSlices): Promise<LikeStatements> {
    const like = new LikeStatements(statements);
    for (const [at, { words }] of statements.entries()) {
      if (slices.isDue) await slices.rest();
      for (const word of words) put(like.#having, word, at);
    }
    for (const [at, statement] of statements.entries()) {
      if (slices.isDue) await slices.rest();
      for (const word of like.#rarest(statement)) put(like.#rareIn, word, at);
    }
    return like;
  }

  /** Those that differ from this one, from a place on, in their order. */
  differing(statement: Statement, from = 0): Statement[] {
    this.#round += 1;
    const found: number[] = [];
    for (const word of this.#rarest(statement)) this.#compare(statement, this.#having.get(word), from, found);
    for (const word of statement.words) this.#compare(statement, this.#rareIn.get(word), from, found);
    return found.sort((a, b) => a - b).flatMap((place) => this.#statements[place] ?? []);
  }

  #compare(statement: Statement, places: readonly number[] = [], from: number, found: number[]): void {
    for (const place of places) {
      const other = this.#statements[place];
      if (place < from || this.#rounds[place] === this.#round || !other) continue;
      this.#rounds[place] = this.#round;
      this.compared += 1;
      if (differ(statement, other)) found.push(place);
    }
  }

  #rarest({ words }: Statement): string[] {
    const mustShare = Math.max(2, Math.floor(SAME_SUBJECT * words.size) + 1);
    // Each has a word that the other lacks.
    if (mustShare >= words.size) return [];
    const counted = Array.from(words, (word) => ({ word, having: this.#having.get(word)?.length ?? 0 }));
    counted.sort((a, b) => a.having - b.having);
    return counted.slice(0, words.size - mustShare + 1).map(({ word }) => word);
  }
}

function put(places: Map<string, number[]>, word: string, at: number): void {
  const before = places.get(word);
  if (before) before.push(at);
  else places.set(word, [at]);
}
