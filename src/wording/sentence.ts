import { own } from "../protocol/dict.ts";
import { type FactOf, type FactType, HUMAN } from "../protocol/index.ts";

/**
 * A fact as a sentence in parts, which the terminal and the page draw each in their own way.
 *
 * WORDING-1. Every kind of fact has a sentence: a new kind does not compile until it has one.
 * WORDING-2. The reader is addressed as "you": "You begin node-2", never "You begins" or "Human begins".
 * WORDING-3. A sentence contains text from outside unchanged: whatever displays it makes it safe and short enough.
 */
export interface Sentence {
  /** Somebody of the team, by id. Nobody: the sentence is about a thing. */
  who?: string;
  /** What they are called, or what the thing is called: `Alice`, `node-3`, `The budget`. Empty: `text` says it all. */
  subject: string;
  /** What they do, in the third person: `begins node-3`. */
  does: string;
  /** What somebody wrote: a task, a summary, a reason. */
  text?: string;
  /** It is short, or every line of it counts: in the log it is shown whole. */
  isWhole?: true;
  /** What follows from it: `tries again in 2.0 s`. */
  next?: string | undefined;
  /** Figures and ids, for those who look closely. */
  detail?: string | undefined;
  tone: Tone;
  /** To whom `text` was said, by id. */
  to?: string;
  /** The node whose state changes with it. */
  node?: string;
}

export type Tone =
  | "tells"
  | "asks"
  | "to_you"
  | "done"
  | "failed"
  | "begins"
  | "new"
  | "leaves"
  | "stage"
  | "warning"
  | "plain";

/** How the display names people and formats times. */
export interface Style {
  name(id: string): string;
  /** Of a moment in seconds since 1970. */
  time(seconds: number): string;
}

export type Sentences<T extends FactType> = { [K in T]: (data: FactOf<K>["data"], style: Style) => Sentence };

/** `Alice begins node-2`, `You begin node-2`, without the text. */
export function clauseOf(sentence: Sentence): string {
  const subject = sentence.who === HUMAN ? "You" : sentence.subject;
  return [subject, predicateOf(sentence)].filter(Boolean).join(" ");
}

/** `begins node-2`, or for the reader `begin node-2`. */
export function predicateOf({ who, does }: Pick<Sentence, "who" | "does">): string {
  if (who !== HUMAN) return does;
  const [first = "", ...rest] = does.split(" ");
  return [own(YOURS, first) ?? first.replace(/s$/, ""), ...rest].join(" ");
}

const YOURS: Readonly<Record<string, string>> = { is: "are", was: "were", has: "have", tries: "try" };

/** The whole sentence in one line, with `text` and `next` as they are to be shown. */
export function lineOf(clause: string, text: string, next: string | undefined): string {
  const said = [clause, text].filter(Boolean).join(": ");
  return next === undefined || next === "" ? said : `${said} (${next})`;
}

/** A sentence about somebody of the team. */
export function by(
  id: string,
  { name }: Style,
  does: string,
  more: Omit<Sentence, "who" | "subject" | "does" | "tone"> & { tone?: Tone } = {},
): Sentence {
  return { who: id, subject: name(id), does, tone: "plain", ...more };
}

/** A sentence about a thing. */
export function thing(
  subject: string,
  does: string,
  more: Omit<Sentence, "who" | "subject" | "does" | "tone"> & { tone?: Tone } = {},
): Sentence {
  return { subject, does, tone: "plain", ...more };
}

/** The part in brackets in the log. */
export function details(...parts: readonly (string | false | null | undefined)[]): string | undefined {
  return parts.filter(Boolean).join(", ") || undefined;
}
