import { widthOf } from "../wording/width.ts";

/** What the region needs from a terminal: `process.stderr`, or a fake in tests. */
export interface Screen {
  write(text: string): unknown;
  columns?: number;
  rows?: number;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

export interface Ticker {
  /** Calls back once after `ms`. Returns the cancel. */
  after(ms: number, then: () => void): () => void;
}

/**
 * A few lines at the bottom of a terminal that are redrawn, below scrollback that stays.
 *
 * REGION-1. What is printed stays, whole and in order; the region is below it and leaves nothing behind when it closes.
 * REGION-2. At most ten frames a second, sixty while somebody types; each is one write inside synchronized output (DEC
 *     2026), so nothing flickers.
 * REGION-3. A region line never wraps: lines are cut to the width and automatic wrapping is off while they are written.
 *     So the number of rows to erase is known, even after the window became narrower and wrapped them itself.
 */
export class LiveRegion {
  readonly #screen: Screen;
  readonly #ticker: Ticker;
  readonly #lines: (columns: number, lines: number) => string[];
  /** The widths of the region's lines as they stand on the screen. */
  #drawn: number[] = [];
  #printed: string[] = [];
  #cancel: (() => void) | undefined;
  #closed = false;
  #isEchoing = false;
  readonly #onResize = () => this.refresh();

  /** `lines` is asked once a frame and gives at most so many lines of at most so many columns. */
  constructor(screen: Screen, ticker: Ticker, lines: (columns: number, lines: number) => string[]) {
    this.#screen = screen;
    this.#ticker = ticker;
    this.#lines = lines;
    screen.on("resize", this.#onResize);
    screen.write(HIDE_CURSOR);
    this.#draw();
  }

  /** Permanent lines; they appear with the next frame. */
  print(...lines: string[]): void {
    this.#printed.push(...lines);
    this.refresh();
  }

  refresh(): void {
    this.#cancel ??= this.#drawAfter(FRAME_MS);
  }

  /** A key was pressed: anyone who types sees it at once. */
  echo(): void {
    if (this.#isEchoing) return;
    this.#cancel?.();
    this.#isEchoing = true;
    this.#cancel = this.#drawAfter(ECHO_MS);
  }

  #drawAfter(ms: number): (() => void) | undefined {
    if (this.#closed) return undefined;
    return this.#ticker.after(ms, () => {
      this.#cancel = undefined;
      this.#isEchoing = false;
      this.#draw();
    });
  }

  /** Takes the region away, with everything printed before it left standing. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancel?.();
    this.#screen.off("resize", this.#onResize);
    this.#screen.write(`${this.#frame([])}${SHOW_CURSOR}`);
  }

  #draw(): void {
    const columns = Math.max(2, (this.#screen.columns ?? 80) - 1);
    const most = Math.max(0, Math.min(MOST_LINES, (this.#screen.rows ?? 24) - 2));
    this.#screen.write(this.#frame(most === 0 ? [] : this.#lines(columns, most).slice(0, most)));
  }

  #frame(lines: string[]): string {
    const printed = this.#printed.splice(0).map((line) => `${line}\n`);
    const back = this.#rowsOnScreen();
    const erase = `${back > 0 ? `\u001b[${back}A` : ""}${ERASE_BELOW}`;
    this.#drawn = lines.map((line) => widthOf(withoutColour(line)));
    const region = lines.length > 0 ? `${NO_WRAP}${lines.map((line) => `${line}\n`).join("")}${WRAP}` : "";
    return `${BEGIN}${erase}${printed.join("")}${region}${END}`;
  }

  /** A window that became narrower has broken our lines into several rows. */
  #rowsOnScreen(): number {
    const columns = Math.max(1, this.#screen.columns ?? 80);
    const rows = this.#drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return Math.min(rows, Math.max(0, (this.#screen.rows ?? 24) - 1));
  }
}

const FRAME_MS = 100;
const ECHO_MS = 16;
const MOST_LINES = 12;
/** Not from the upper left corner: tmux takes that for clearing the screen, and keeps what stood there as scrollback. */
const ERASE_BELOW = "\r\u001b[2K\u001b[C\u001b[J\r";
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";
const NO_WRAP = "\u001b[?7l";
const WRAP = "\u001b[?7h";
const HIDE_CURSOR = "\u001b[?25l";
export const SHOW_CURSOR = "\u001b[?25h";
/** Turns the marking of pasted text (DEC 2004) on or off. */
export const MARK_PASTE = "\u001b[?2004h";
export const PLAIN_PASTE = "\u001b[?2004l";

function withoutColour(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape sequences
  return line.replace(/\u001b\[[0-9;]*m/g, "");
}
