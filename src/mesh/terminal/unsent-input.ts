import { cursorOf, type PaneView } from "./pane-view.ts";

/** The line that the cursor is in, even if it is wrapped over several rows. */
interface PromptLine {
  /** Counted from the beginning of everything that was ever shown. */
  row: number;
  x: number;
  text: string;
}

/**
 * Whether a person has begun to type a line in a terminal and not sent it, for programs whose input line we do not
 * know.
 *
 * UNSENT-1. A change of the cursor's line while keys are pressed is the person's; without keys it is the program's.
 * UNSENT-2. A begun line ends when the cursor moves to another line together with a key (Enter, Ctrl-C), or when the
 *     line is back to what it was. Neither output of the program nor detaching ends it.
 */
export class UnsentInput {
  /** The line as the program left it, and when that was seen: in seconds, by the clock of tmux. */
  #prompt: (PromptLine & { at: number }) | undefined;
  #begun: (PromptLine & { at: number }) | undefined;

  get isBegun(): boolean {
    return this.#begun !== undefined;
  }

  see(look: PaneView): void {
    const here = { ...lineOf(look), at: look.now };
    if (this.#begun) this.#goOn(this.#begun, here, look);
    else if (!look.isWatched || this.#isOfProgram(here, look)) this.#prompt = here;
    else if (this.#prompt && !isSame(this.#prompt, here)) this.#begun = here;
  }

  /** What was in the line was sent or cleared by us. */
  forget(): void {
    this.#prompt = undefined;
    this.#begun = undefined;
  }

  /** UNSENT-1. A key of this very second may have come after it was seen. */
  #isOfProgram(here: PromptLine, { keys }: PaneView): boolean {
    return !this.#prompt || keys < this.#prompt.at || here.row !== this.#prompt.row;
  }

  /** UNSENT-2. */
  #goOn(begun: PromptLine & { at: number }, here: PromptLine & { at: number }, { keys }: PaneView): void {
    const isBack = this.#prompt !== undefined && isSame(this.#prompt, here);
    const isElsewhere = here.row !== begun.row;
    const isRedrawn = here.text === begun.text;
    if (isBack || (isElsewhere && keys >= begun.at && !isRedrawn)) {
      this.#begun = undefined;
      this.#prompt = here;
      return;
    }
    if (isElsewhere) this.#prompt = undefined;
    this.#begun = here;
  }
}

function isSame(one: PromptLine, other: PromptLine): boolean {
  return one.row === other.row && one.x === other.x && one.text === other.text;
}

function lineOf({ screen, cursor, width }: PaneView): PromptLine {
  const { x, y, history } = cursorOf(cursor);
  let first = y;
  while (first > 0 && (screen[first - 1] ?? "").length >= width) first--;
  return { row: history + first, x, text: screen.slice(first, y + 1).join("") };
}
