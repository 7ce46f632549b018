/**
 * What a terminal program looks like in each of its states, as data. Patterns are matched against whole screens, line
 * by line.
 */
export interface TerminalKind {
  /** Lines that stand there only while it asks something that keys would answer. */
  dialog: readonly RegExp[];
  /** A line of the question that it asks at each start and that Enter answers as the person has agreed. */
  opening: RegExp | null;
  /** Lines, or a title, that stand there only while it works. */
  busy: readonly RegExp[];
  busyTitle: RegExp | null;
  /** A title that stands there only while it asks something. */
  dialogTitle: RegExp | null;
  /** The line in which one types, with what is typed as its first group; null where there is none to be known. */
  input: RegExp | null;
  /** What stands in the line above it, where lines like it are elsewhere too. */
  aboveInput: RegExp | null;
  /** What never stands below it: then it is what somebody said before, and a dialog has taken the place of the input. */
  notBelowInput: RegExp | null;
  /** The lower edge of the box in which one types, where `input` is a line of such a box: its indent, then its width. */
  boxEdge: RegExp | null;
  /** What the input shows in the place of a long paste. */
  folded: RegExp | null;
  /** What may stand in an empty input: advice that nobody typed. */
  hint: RegExp | null;
  /** It stands in every empty input, so a first line without words is that of a text. */
  alwaysHints: boolean;
  /** What empties a line of the input and goes to the one before: bytes as they would be typed. */
  clear: string;
  /** It takes what is typed while it works, and reads it when it can. */
  hearsWhileBusy: boolean;
}

/** Any command: it is ready when it says nothing more. */
const plain: TerminalKind = {
  dialog: [],
  opening: null,
  busy: [],
  busyTitle: null,
  dialogTitle: null,
  input: null,
  aboveInput: null,
  notBelowInput: null,
  boxEdge: null,
  folded: null,
  hint: null,
  alwaysHints: false,
  clear: "\x15",
  hearsWhileBusy: false,
};

/** As seen in the versions of November 2026. When a program changes, only this table has to change. */
export const TERMINAL_KINDS = {
  plain,
  claude: {
    ...plain,
    dialog: [/^\s*Do you want to /, /Esc to cancel/, /^\s*❯ 1\. /, /Enter to confirm/],
    busy: [/esc to interrupt/i],
    busyTitle: /^[◐◓◑◒⠂⠐·✢✶✻✽]/u,
    input: /^❯(?:[\s\u00a0](.*))?$/u,
    aboveInput: /^─{20}/u,
    folded: /\[Pasted text #\d+/,
    hint: /^(Try ".*"|Press up to edit queued messages.*)$/,
    clear: "\x15\x7f",
    hearsWhileBusy: true,
  },
  codex: {
    ...plain,
    dialog: [/^\s*Press enter to (confirm|continue)/i, /^\s*enter(\/esc)? (confirm|continue) · /, /^[›>] \d\. /],
    // It does not load the settings that the project brings along.
    opening: /^[›>] 1\. Open restricted$/,
    busy: [/esc to interrupt/i],
    busyTitle: /^[\u2800-\u28ff]/u,
    dialogTitle: /^\[ .? ?\] Action Required/,
    input: /^›(?!\s\d\. )(?:\s(.*?)(?:\s+↑)?)?$/u,
    notBelowInput: /^\S/,
    clear: "\x15\x7f",
    folded: /\[Pasted Content \d+/,
    hint: /^(Ask Codex to do anything|Explain this codebase|Summarize recent commits|Implement \{feature\}|Write tests for @filename|Find and fix a bug in @filename|Improve documentation in @filename|Run \/review on my current changes|Use \/skills to list available skills).*$/,
    alwaysHints: true,
    hearsWhileBusy: true,
  },
  gemini: {
    ...plain,
    dialog: [/^[\s│]*● \d\. /, /^[\s│]*Allow execution of /, /^[\s│]*Apply this change\?/, /Use Enter to select/],
    busy: [/esc to cancel, \d+s?/i],
    busyTitle: /^(✦|⏲)/u,
    dialogTitle: /^✋/u,
    // A star where it asks about nothing (`permissions: "allow"`).
    input: /^\s*[>*]\s(.*)$/u,
    aboveInput: /^▄{20}/u,
    // A box below it, or words of the model's: then it is an older prompt, which looks the same.
    notBelowInput: /^ ?[╭│╰✦ℹ✕]/u,
    clear: "\x15\x7f",
    folded: /\[Pasted Text: \d+ /,
    hint: /^Type your message or @path.*$/,
    alwaysHints: true,
    hearsWhileBusy: true,
  },
  opencode: {
    ...plain,
    dialog: [/^\s*┃\s+△ Permission required/, /^\s*┃\s+Allow once\s+Allow always/, /^\s*┃\s.*enter (submit|confirm)/],
    busy: [/^\s*[⬝■]{2}/u],
    input: /^\s*┃/u,
    boxEdge: /^(\s*)╹(▀{20,})/u,
    clear: "\x15\x7f",
    folded: /\[Pasted ~?\d+ lines/,
    hint: /^(Ask anything…|Run a command…).*$/u,
    hearsWhileBusy: true,
  },
} as const satisfies Record<string, TerminalKind>;

export type TerminalKindName = keyof typeof TERMINAL_KINDS;

export interface ShownScreen {
  screen: readonly string[];
  title: string;
}

export type TerminalState = "dialog" | "busy" | "idle";

/**
 * The visible state; null if neither title nor screen shows it. If a program has an input line, only that line means
 * idle: titles keep saying "ready" while a dialog is open.
 */
export function seenState(kind: TerminalKind, { screen, title }: ShownScreen): TerminalState | null {
  const input = inputIn(kind, screen);
  // A dialog stands below all else. Where one could type, its words are in what somebody said.
  const below = screen.slice(input === null ? 0 : input.to + 1);
  if (shows(below, kind.dialog) || kind.dialogTitle?.test(title)) return "dialog";
  const near = screen.slice(input === null ? 0 : Math.max(0, input.from - NEAR));
  if (kind.busyTitle?.test(title) || shows(near, kind.busy)) return "busy";
  return input !== null ? "idle" : null;
}

/** Text that is typed and not yet sent; null if no input line is visible, so that nothing may be typed. */
export function inputOf(kind: TerminalKind, screen: readonly string[]): string | null {
  return inputIn(kind, screen)?.typed ?? null;
}

/** Whether keys would go to the input line, and not to a dialog that they would answer. */
export function canBeTypedTo(kind: TerminalKind, view: ShownScreen): boolean {
  return seenState(kind, view) !== "dialog" && (kind.input === null || inputOf(kind, view.screen) !== null);
}

/** So many lines above the input a program says what it does; higher up it is part of the conversation. */
const NEAR = 7;

interface TypedInput {
  typed: string;
  /** The first and the last of its lines. */
  from: number;
  to: number;
}

function inputIn(kind: TerminalKind, screen: readonly string[]): TypedInput | null {
  const input = kind.boxEdge ? boxIn(kind, kind.boxEdge, screen) : lineIn(kind, screen);
  if (!input || shows(screen.slice(input.to + 1), kind.notBelowInput ? [kind.notBelowInput] : [])) return null;
  if (kind.hint?.test(input.typed)) return { ...input, typed: "" };
  return input.typed === "" && kind.alwaysHints ? { ...input, typed: "…" } : input;
}

function lineIn({ input, aboveInput }: TerminalKind, screen: readonly string[]): TypedInput | null {
  if (input === null) return null;
  for (let at = screen.length - 1; at >= 0; at--) {
    const match = input.exec(screen[at] ?? "");
    if (match && (aboveInput?.test(screen[at - 1] ?? "") ?? true))
      return { typed: (match[1] ?? "").trim(), from: at, to: at };
  }
  return null;
}

/** All rows of the box but the last, which names the model. Beside it may stand something else. */
function boxIn({ input }: TerminalKind, edge: RegExp, screen: readonly string[]): TypedInput | null {
  const to = screen.findLastIndex((line) => edge.test(line));
  const [, indent = "", width = ""] = edge.exec(screen[to] ?? "") ?? [];
  let from = to;
  while (from > 0 && input?.test(cells(screen[from - 1] ?? "", 0, indent.length + 1))) from--;
  if (from === to) return null;
  const rows = screen
    .slice(from, to - 1)
    .map((line) => cells(line, indent.length + 1, indent.length + 1 + width.length));
  return {
    typed: rows
      .map((row) => row.trim())
      .join("\n")
      .trim(),
    from,
    to,
  };
}

/** A part of a line by the columns of the terminal, in which some signs take two and some none. */
function cells(line: string, from: number, to: number): string {
  let at = 0;
  let part = "";
  for (const sign of line) {
    if (at >= from && at < to) part += sign;
    at += /[\p{M}\p{Cf}]/u.test(sign) ? 0 : WIDE.test(sign) ? 2 : 1;
  }
  return part;
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/u;

function shows(lines: readonly string[], patterns: readonly RegExp[]): boolean {
  return lines.some((line) => patterns.some((pattern) => pattern.test(line)));
}

/** Whether pasted text is visible: its end, or the placeholder for it. Wrapped lines and spaces make no difference. */
export function showsText(
  kind: TerminalKind,
  before: readonly string[],
  now: readonly string[],
  text: string,
): boolean {
  if (kind.folded) {
    const folds = (screen: readonly string[]) => screen.filter((line) => kind.folded?.test(line)).length;
    if (folds(now) > folds(before)) return true;
  }
  const wanted = tailOf(text);
  if (wanted === "") return false;
  const words = (screen: readonly string[]) => squeezed(whereTyped(kind, screen));
  const times = (screen: readonly string[]) => words(screen).split(wanted).length - 1;
  // Messages end alike, and a long one pushes the one before out of sight: then it is one as it was, but the last.
  return times(now) > times(before) || (words(now).endsWith(wanted) && !words(before).endsWith(wanted));
}

/** Where one sees what one types: in the input where there is one, else anywhere. */
function whereTyped(kind: TerminalKind, screen: readonly string[]): string {
  if (kind.input === null) return screen.join("");
  const input = inputIn(kind, screen);
  // In a box one looks into the box: what stands beside it would be between its lines.
  if (input === null || kind.boxEdge) return input?.typed ?? "";
  return screen.slice(input.from).join("");
}

/** Whether these rows end with the pasted text. */
export function endsWithText(rows: readonly string[], text: string): boolean {
  const wanted = tailOf(text);
  return wanted !== "" && squeezed(rows.join("")).endsWith(wanted);
}

function tailOf(text: string): string {
  return squeezed(text).slice(-TAIL);
}

/** So much of the end is looked for: the beginning may have scrolled out of sight. */
const TAIL = 24;

function squeezed(text: string): string {
  return text.replace(/[\s\u00a0│|]+/gu, "");
}
