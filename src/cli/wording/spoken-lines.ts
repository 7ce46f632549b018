/**
 * Streamed words arrive in small pieces; people read lines. Collects each speaker's words and returns what is complete:
 * whole lines, and whole sentences of a long paragraph, so that a reader is never far behind.
 */
export class SpokenLines {
  readonly #pending = new Map<string, string>();

  /** What this crumb finished. */
  hear(speaker: string, crumb: string): string[] {
    const lines = ((this.#pending.get(speaker) ?? "") + crumb).split("\n");
    let rest = lines.pop() ?? "";
    const sentence = endOfSentence(rest);
    if (sentence > 0) {
      lines.push(rest.slice(0, sentence));
      rest = rest.slice(sentence).trimStart();
    }
    this.#pending.set(speaker, rest);
    return lines.filter((line) => line.trim() !== "");
  }

  /** The speaker pauses: what is left is finished too. */
  pause(speaker: string): string[] {
    const rest = this.#pending.get(speaker) ?? "";
    this.#pending.delete(speaker);
    return rest.trim() === "" ? [] : [rest];
  }

  /** What is being said just now. */
  unfinished(speaker: string): string {
    return this.#pending.get(speaker) ?? "";
  }
}

/** Short sentences stay together: a line for each would tear a paragraph apart. */
const LONG_ENOUGH = 80;
/** Somebody who never ends a sentence is cut at a space. */
const TOO_LONG = 2000;

function endOfSentence(text: string): number {
  if (text.length < LONG_ENOUGH) return 0;
  const end = text.slice(LONG_ENOUGH - 1).search(/[.!?…]["')\]]?\s/u);
  if (end >= 0) return LONG_ENOUGH + end + (/\s/.test(text[LONG_ENOUGH + end] ?? "") ? 0 : 1);
  return text.length < TOO_LONG ? 0 : Math.max(text.lastIndexOf(" "), LONG_ENOUGH);
}
