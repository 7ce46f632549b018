/**
 * Counts the bytes of a server-sent event stream since the last complete event, which is what a parser has to buffer.
 * An event may have any number of lines and ends only with an empty one.
 */
export class EventSize {
  /** How many events are over; empty lines beyond the one that ends an event count too. */
  ended = 0;
  #bytes = 0;
  #isLineEmpty = true;

  /** Counts a chunk; returns what is pending after it. One look at each byte, and nothing is kept. */
  add(chunk: Uint8Array): number {
    this.#bytes += chunk.length;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
      if (!this.#endsEmptyLine(chunk, at)) continue;
      this.#bytes = chunk.length - at - 1;
      this.ended += 1;
    }
    this.#isLineEmpty = this.#endsInEmptyLine(chunk);
    return this.#bytes;
  }

  #endsEmptyLine(chunk: Uint8Array, at: number): boolean {
    let before = at - 1;
    while (chunk[before] === RETURN) before--;
    return before < 0 ? this.#isLineEmpty : chunk[before] === NEWLINE;
  }

  #endsInEmptyLine(chunk: Uint8Array): boolean {
    return this.#endsEmptyLine(chunk, chunk.length);
  }
}

const [NEWLINE, RETURN] = [0x0a, 0x0d];
