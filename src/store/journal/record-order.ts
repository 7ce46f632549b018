/**
 * Checks that the records of a stream are consecutive: each number once, none missing.
 *
 * ORDER-1. An unreadable line had a number, too: a gap of as many numbers as there were such lines is explained by
 *     them.
 */
export class RecordOrder {
  #last: number | undefined;
  #unreadable = 0;

  /** The number before the first record, where it is known. */
  constructor(before: number | undefined) {
    this.#last = before;
  }

  /** What a record with this number is: the next one, one that was there before, or one after a hole. */
  take(seq: number): "next" | "again" | { from: number; to: number } {
    const last = this.#last;
    if (last !== undefined && seq <= last) return "again";
    const hole = last === undefined ? 0 : seq - last - 1 - this.#unreadable;
    const from = (last ?? 0) + this.#unreadable + 1;
    this.#last = seq;
    this.#unreadable = 0;
    return hole > 0 ? { from, to: seq - 1 } : "next";
  }

  /** A line that cannot be read. */
  skip(): void {
    this.#unreadable += 1;
  }
}
