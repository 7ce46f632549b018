/**
 * The messages of a conversation as the bytes of a JSON list. A conversation only grows, so a turn adds what is new
 * behind what is there; where it does not (a summary, another conversation), the part that still holds is kept.
 *
 * G1. `join` gives bytes of its own: what was handed out never changes.
 */
export class GrowingBody<M extends object> {
  readonly #encode: (message: M) => string;
  #messages: M[] = [];
  /** Where each message ends. */
  #ends: number[] = [];
  #bytes = Buffer.allocUnsafe(16 * 1024);

  constructor(encode: (message: M) => string) {
    this.#encode = encode;
  }

  join(head: string, messages: readonly M[], tail: string): Uint8Array {
    const length = this.#bring(messages);
    const headBytes = Buffer.byteLength(head);
    const body = Buffer.allocUnsafe(headBytes + length + Buffer.byteLength(tail));
    body.write(head, 0);
    this.#bytes.copy(body, headBytes, 0, length);
    body.write(tail, headBytes + length);
    return body;
  }

  #bring(messages: readonly M[]): number {
    let same = 0;
    while (same < this.#messages.length && this.#messages[same] === messages[same]) same++;
    this.#messages.length = same;
    this.#ends.length = same;
    let end = this.#ends[same - 1] ?? 0;
    for (const message of messages.slice(same)) {
      const text = `${end > 0 ? "," : ""}${this.#encode(message)}`;
      end = this.#add(text, end);
      this.#messages.push(message);
      this.#ends.push(end);
    }
    return end;
  }

  #add(text: string, at: number): number {
    // Three bytes a UTF-16 unit are always enough.
    const needed = at + text.length * 3;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at + this.#bytes.write(text, at);
  }
}
