/**
 * The output of a command, of which the beginning and the end are kept: they show what it did and how it ended.
 * OUTPUT-1. Never holds more than `maxBytes` plus one chunk, however much comes.
 * OUTPUT-2. Cuts between characters, so the text stays valid UTF-8.
 */
export class Output {
  readonly #half: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#half = Math.floor(maxBytes / 2);
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#half - this.#headBytes;
    const first = chunk.subarray(0, room);
    if (first.length > 0) {
      this.#head.push(first);
      this.#headBytes += first.length;
    }
    if (chunk.length > room) this.#pushTail(chunk.subarray(Math.max(0, room)));
  }

  #pushTail(chunk: Buffer): void {
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    for (let oldest = this.#tail[0]; oldest && this.#tailBytes - oldest.length >= this.#half; oldest = this.#tail[0]) {
      this.#tail.shift();
      this.#tailBytes -= oldest.length;
    }
  }

  get truncated(): boolean {
    return this.#total > 2 * this.#half;
  }

  text(): string {
    const tail = Buffer.concat(this.#tail);
    if (!this.truncated) return Buffer.concat([...this.#head, tail]).toString("utf8");
    const first = upToCharacter(Buffer.concat(this.#head));
    const last = fromCharacter(tail.subarray(tail.length - this.#half));
    const left = this.#total - first.length - last.length;
    return `${first.toString("utf8")}\n… ${left} bytes left out here …\n${last.toString("utf8")}`;
  }
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Without the character at the end that the cut went through. */
function upToCharacter(bytes: Buffer): Buffer {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && isContinuation(bytes[start])) start--;
  const lead = bytes[start] ?? 0;
  const needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + needs > bytes.length ? bytes.subarray(0, start) : bytes;
}

/** Without the rest of a character at the beginning. */
function fromCharacter(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}
