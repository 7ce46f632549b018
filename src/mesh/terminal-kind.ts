/** What a terminal program looks like in each of its states, as data. Patterns are tried against whole screens, line by line. */
export interface TerminalKind {
  /** Lines that stand there only while it asks something that keys would answer. */
  dialog: readonly RegExp[];
  /** Lines, or a title, that stand there only while it works. */
  busy: readonly RegExp[];
  busyTitle: RegExp | null;
  idleTitle: RegExp | null;
  /** The line in which one types, with what is typed as its first group; null where there is none to be known. */
  input: RegExp | null;
  /** What stands in the line above it, where lines like it are elsewhere too. */
  aboveInput: RegExp | null;
  /** What the input shows in the place of a long paste. */
  folded: RegExp | null;
  /** What may stand in an empty input: advice that nobody typed. */
  hint: RegExp | null;
  /** What empties a line of the input and goes to the one before: bytes as they would be typed. */
  clear: string;
  /** It takes what is typed while it works, and reads it when it can. */
  hearsWhileBusy: boolean;
}

/** Any command: it is ready when it says nothing more. */
const plain: TerminalKind = {
  dialog: [],
  busy: [],
  busyTitle: null,
  idleTitle: null,
  input: null,
  aboveInput: null,
  folded: null,
  hint: null,
  clear: "\x15",
  hearsWhileBusy: false,
};

/** Seen with the versions of November 2026; who changes them changes what is here, and nothing else. */
export const TERMINAL_KINDS = {
  plain,
  claude: {
    ...plain,
    dialog: [/^\s*Do you want to /, /Esc to cancel/, /^\s*❯ 1\. /, /Enter to confirm/],
    busy: [/esc to interrupt/i],
    busyTitle: /^[◐◓◑◒⠂⠐·✢✶✻✽]/u,
    idleTitle: /^✳/u,
    input: /^❯(?:[\s\u00a0](.*))?$/u,
    aboveInput: /^─{20}/u,
    folded: /\[Pasted text #\d+/,
    hint: /^(Try ".*"|Press up to edit queued messages.*)$/,
    clear: "\x15\x7f",
    hearsWhileBusy: true,
  },
  codex: {
    ...plain,
    dialog: [/Press enter to (confirm|continue)/i, /^\s*› \d\. /, /Allow command\?/],
    busy: [/esc to interrupt/i],
    busyTitle: /^[\u2800-\u28ff]/u,
    input: /^›(?!\s\d\. )(?:\s(.*))?$/u,
    clear: "\x15\x7f",
    folded: /\[Pasted Content \d+/,
    hint: /^(Ask Codex to do anything|Explain this codebase|Summarize recent commits|Implement \{feature\}|Write tests for @filename|Find and fix a bug in @filename|Improve documentation in @filename|Run \/review on my current changes|Use \/skills to list available skills).*$/,
    hearsWhileBusy: true,
  },
  gemini: {
    ...plain,
    dialog: [/Allow execution/, /Apply this change\?/, /^\s*● 1\. /, /Do you want to proceed/],
    busy: [/esc to cancel/i],
    busyTitle: /^(✦|⏲)/u,
    idleTitle: /^◇/u,
    input: /^\s*>\s(.*)$/u,
    aboveInput: /^▄{20}/u,
    clear: "\x15\x7f",
    folded: /\[Pasted Text: \d+ lines/,
    hint: /^Type your message or @path.*$/,
    hearsWhileBusy: false,
  },
  opencode: {
    ...plain,
    dialog: [/Permission required/i, /Allow once/],
    busy: [/esc interrupt/i, /esc to interrupt/i],
    folded: /\[Pasted ~?\d+ lines/,
    hearsWhileBusy: true,
  },
} as const satisfies Record<string, TerminalKind>;

export type TerminalKindName = keyof typeof TERMINAL_KINDS;

export interface View {
  screen: readonly string[];
  title: string;
}

export type TerminalState = "dialog" | "busy" | "idle";

/** What is seen, as far as it can be seen: null where neither title nor screen says. */
export function seenState(kind: TerminalKind, { screen, title }: View): TerminalState | null {
  const shows = (patterns: readonly RegExp[]) => screen.some((line) => patterns.some((pattern) => pattern.test(line)));
  const input = inputIn(kind, screen);
  // A dialog stands below all else. Where one could type, its words are in what somebody said.
  const below = screen.slice(input === null ? 0 : input.at + 1);
  if (below.some((line) => kind.dialog.some((pattern) => pattern.test(line)))) return "dialog";
  if (kind.busyTitle?.test(title) || shows(kind.busy)) return "busy";
  if (kind.idleTitle?.test(title)) return "idle";
  return input !== null ? "idle" : null;
}

/** What is typed and not yet sent; null where no input can be seen. */
export function inputOf(kind: TerminalKind, screen: readonly string[]): string | null {
  return inputIn(kind, screen)?.typed ?? null;
}

function inputIn(kind: TerminalKind, screen: readonly string[]): { typed: string; at: number } | null {
  if (kind.input === null) return null;
  for (let at = screen.length - 1; at >= 0; at--) {
    const match = kind.input.exec(screen[at] ?? "");
    if (!match || (kind.aboveInput && !kind.aboveInput.test(screen[at - 1] ?? ""))) continue;
    const typed = (match[1] ?? "").trim();
    return { typed: kind.hint?.test(typed) ? "" : typed, at };
  }
  return null;
}

/** Whether what was pasted shows: its end, or what stands in its place. Wrapped lines and spaces make no difference. */
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
  const times = (screen: readonly string[]) => squeezed(screen.join("")).split(wanted).length - 1;
  return wanted !== "" && times(now) > times(before);
}

/** Whether these rows end with what was pasted. */
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
