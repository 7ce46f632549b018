import { widthOf } from "../wording/width.ts";

/** A key, as `node:readline` names it. */
export interface Key {
  name?: string | undefined;
  ctrl?: boolean | undefined;
  meta?: boolean | undefined;
}

/**
 * One line of input, independent of a terminal: keys in, text out.
 *
 * EDITOR-1. Whole letters: an accent or an emoji is never cut in two.
 * EDITOR-2. Pasted text is text, including its line breaks; only Enter ends the line.
 * EDITOR-3. Nothing unprintable gets in.
 */
export class LineEditor {
  #before = "";
  #after = "";
  #isPasting = false;
  readonly #history: string[] = [];
  #at = 0;

  get text(): string {
    return this.#before + this.#after;
  }

  /** The finished line, when this key finishes it. */
  press(letters: string | undefined, key: Key): string | undefined {
    if (key.name === "paste-start" || key.name === "paste-end") {
      this.#isPasting = key.name === "paste-start";
      return undefined;
    }
    const isEnter = key.name === "return" || key.name === "enter";
    if (isEnter && !this.#isPasting) return this.#finish();
    const move = this.#isPasting ? undefined : this.#moves[nameOf(key)];
    if (move) move();
    else if (isEnter) this.#insert("\n");
    else if (letters !== undefined && !key.ctrl && !key.meta) this.#insert(letters);
    return undefined;
  }

  /** Puts this in the place of what was typed. */
  replace(text: string): void {
    this.#before = text;
    this.#after = "";
  }

  /** The part around the caret that fits, on one line: what is before the caret, under it, and after it. */
  view(columns: number): { before: string; under: string; after: string } {
    const shown = (text: string) => text.replaceAll("\n", "⏎");
    let before = shown(this.#before);
    const [under = " ", ...rest] = lettersOf(shown(this.#after));
    while (before !== "" && widthOf(before) + widthOf(under) > columns) before = before.slice(firstOf(before).length);
    let after = "";
    for (const letter of rest) {
      if (widthOf(before + under + after + letter) > columns) break;
      after += letter;
    }
    return { before, under, after };
  }

  #insert(letters: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not get in
    this.#before += letters.replaceAll("\t", " ").replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/gu, "");
  }

  #finish(): string {
    const line = this.text;
    if (line.trim() !== "" && this.#history.at(-1) !== line) this.#history.push(line);
    this.#at = this.#history.length;
    this.replace("");
    return line;
  }

  #recall(step: number): void {
    const at = this.#at + step;
    if (at < 0 || at > this.#history.length) return;
    this.#at = at;
    this.replace(this.#history[at] ?? "");
  }

  #left(): void {
    const letter = lastOf(this.#before);
    this.#before = this.#before.slice(0, this.#before.length - letter.length);
    this.#after = letter + this.#after;
  }

  #right(): void {
    const letter = firstOf(this.#after);
    this.#after = this.#after.slice(letter.length);
    this.#before += letter;
  }

  readonly #erase = () => {
    this.#before = this.#before.slice(0, this.#before.length - lastOf(this.#before).length);
  };
  readonly #toStart = () => {
    [this.#before, this.#after] = ["", this.text];
  };
  readonly #toEnd = () => this.replace(this.text);

  readonly #moves: Readonly<Record<string, () => void>> = {
    backspace: this.#erase,
    "ctrl-h": this.#erase,
    delete: () => {
      this.#after = this.#after.slice(firstOf(this.#after).length);
    },
    left: () => this.#left(),
    "ctrl-b": () => this.#left(),
    right: () => this.#right(),
    "ctrl-f": () => this.#right(),
    home: this.#toStart,
    "ctrl-a": this.#toStart,
    end: this.#toEnd,
    "ctrl-e": this.#toEnd,
    "ctrl-u": () => {
      this.#before = "";
    },
    "ctrl-k": () => {
      this.#after = "";
    },
    "ctrl-w": () => {
      this.#before = this.#before.replace(/\S*\s*$/u, "");
    },
    up: () => this.#recall(-1),
    down: () => this.#recall(1),
  };
}

function nameOf({ name = "", ctrl }: Key): string {
  return ctrl ? `ctrl-${name}` : name;
}

const letters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function lettersOf(text: string): string[] {
  return Array.from(letters.segment(text), ({ segment }) => segment);
}

function firstOf(text: string): string {
  return lettersOf(text.slice(0, LONGEST_LETTER))[0] ?? "";
}

function lastOf(text: string): string {
  return lettersOf(text.slice(-LONGEST_LETTER)).at(-1) ?? "";
}

/** No letter that people type is longer; looking at more would make a long paste slow. */
const LONGEST_LETTER = 64;
