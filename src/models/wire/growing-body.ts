/**
 * The messages of a conversation as the bytes of a JSON list, after a fixed head. A conversation only grows, so a turn
 * appends what is new; if something else changed (a summary, another conversation), the common beginning is kept.
 *
 * GROWING-BODY-1. Bytes that were handed out never change, although they are not copied: they are never overwritten.
 */
export class GrowingBody<M extends object> {
  readonly #encode: (message: M) => string;
  readonly #head: number;
  #messages: M[] = [];
  /** Where each message ends. */
  #ends: number[] = [];
  #bytes: Buffer;
  /** Bytes before this were handed out. */
  #given = 0;

  constructor(head: string, encode: (message: M) => string) {
    this.#encode = encode;
    this.#bytes = Buffer.allocUnsafe(16 * 1024);
    this.#head = this.#add(head, 0);
  }

  bytesOf(messages: readonly M[]): Uint8Array {
    const end = this.#bring(messages);
    this.#given = Math.max(this.#given, end);
    return this.#bytes.subarray(0, end);
  }

  #bring(messages: readonly M[]): number {
    let same = 0;
    while (same < this.#messages.length && this.#messages[same] === messages[same]) same++;
    this.#messages.length = same;
    this.#ends.length = same;
    let end = this.#ends[same - 1] ?? this.#head;
    for (let at = same; at < messages.length; at++) {
      const message = messages[at] as M;
      end = this.#add(`${at > 0 ? "," : ""}${this.#encode(message)}`, end);
      this.#messages.push(message);
      this.#ends.push(end);
    }
    return end;
  }

  #add(text: string, at: number): number {
    // Three bytes a UTF-16 unit are always enough.
    const needed = at + text.length * 3;
    if (needed > this.#bytes.length || at < this.#given) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * (at < this.#given ? 1 : 2)));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
      this.#given = 0;
    }
    return at + this.#bytes.write(text, at);
  }
}
