/** Of one stream; more than this nobody reads. */
const MOST_KEPT = 4 * 1024 * 1024;

/** At most so many characters of a text: its beginning, its end, and where all of it is. */
export function bothEnds(text: string, most: number, where: string): string {
  if (text.length <= most) return text;
  const gap = `\n\n… (${text.length} characters in all: ${where})\n\n`;
  const half = Math.floor((most - gap.length) / 2);
  return `${text.slice(0, half)}${gap}${text.slice(-half)}`;
}

/** What a program prints, as far as anybody wants it: all of it up to a bound, beyond that its beginning and its end. */
export class Printed {
  #beginning: string[] = [];
  #end: string[] = [];
  #begun = 0;
  #ended = 0;
  #dropped = 0;

  add(text: string): void {
    if (this.#begun < MOST_KEPT / 2) {
      this.#beginning.push(text);
      this.#begun += text.length;
      return;
    }
    this.#end.push(text);
    this.#ended += text.length;
    // Rarely, and then much at once: a stream of short lines must not cost more than its length.
    if (this.#ended > MOST_KEPT) this.#cut();
  }

  get all(): string {
    this.#cut();
    const gap = this.#dropped === 0 ? "" : `\n… (${this.#dropped} characters left out)\n`;
    return `${this.#beginning.join("")}${gap}${this.#end.join("")}`;
  }

  end(length: number): string {
    return this.all.slice(-length);
  }

  #cut(): void {
    const end = this.#end.join("");
    const kept = end.slice(-MOST_KEPT / 2);
    this.#dropped += end.length - kept.length;
    this.#end = [kept];
    this.#ended = kept.length;
  }
}
