/** Whether the names, from the folder of the pattern on, match it. */
export type IgnoreGlob = (names: readonly string[], effort: Effort) => boolean;

/** Longer than any path. */
const LONGEST = 4096;
/** Each takes up to 30 ns: a few milliseconds. */
const MOST_STEPS_FOR_ONE = 200_000;
/** One or two seconds, in slices. */
const MOST_STEPS = 50_000_000;

/** How much work patterns may make: for one name, and for a whole walk. */
export class Effort {
  #left = MOST_STEPS;
  #now = 0;

  /** For the next name. */
  begin(): void {
    this.#now = Math.min(MOST_STEPS_FOR_ONE, this.#left);
  }

  step(): void {
    this.#now -= 1;
    this.#left -= 1;
  }

  get isSpent(): boolean {
    return this.#now <= 0;
  }

  /** Of the whole walk. */
  get stepsLeft(): number {
    return this.#left;
  }
}

/**
 * A pattern with wildcards, as git's wildmatch has it: `*` and `?` match within a name, `**` as a whole name any folders.
 * Undefined where it can match nothing.
 */
export function globOf(pattern: string, isPath: boolean): IgnoreGlob | undefined {
  if (pattern.length > LONGEST) return undefined;
  if (!isPath) {
    const tokens = tokensOf(pattern);
    return tokens && ((names, effort) => nameMatches(tokens, names.at(-1) ?? "", effort));
  }
  const texts = pattern.split("/");
  const segments: Segment[] = [];
  for (const [at, text] of texts.entries()) {
    const isLast = at === texts.length - 1;
    const segment = text === "**" ? (isLast ? "all below" : "any folders") : tokensOf(text);
    if (!segment) return undefined;
    if (segment !== "any folders" || segments.at(-1) !== segment) segments.push(segment);
  }
  return (names, effort) => pathMatches(segments, names, effort);
}

type Segment = readonly Token[] | "any folders" | "all below";
/** A character's code, any one, any number of any, or one of a class. */
type Token = number | "one" | "any" | CharacterClass;
type CharacterClass = (code: number) => boolean;

function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "*") {
      if (tokens.at(-1) !== "any") tokens.push("any");
    } else if (character === "?") tokens.push("one");
    else if (character === "[") {
      const found = classAt(text, at + 1);
      if (!found) return undefined;
      tokens.push(found.is);
      at = found.end;
    } else {
      if (character === "\\") at++;
      if (at >= text.length) return undefined;
      tokens.push(text.charCodeAt(at));
    }
  }
  return tokens;
}

interface Range {
  from: number;
  to: number;
}

/** `[a-z_]`, `[!0-9]`, `[[:alpha:]]`; a bracket that comes first is a member. Undefined where it is never closed. */
function classAt(text: string, start: number): { is: CharacterClass; end: number } | undefined {
  const isNegated = text[start] === "!" || text[start] === "^";
  const first = isNegated ? start + 1 : start;
  const ranges: Range[] = [];
  const sets: RegExp[] = [];
  let at = first;
  while (at === first || text[at] !== "]") {
    const named = text.startsWith("[:", at) ? /^\[:([^\]]*):\]/.exec(text.slice(at, at + 20)) : null;
    if (named) {
      const set = SETS[named[1] ?? ""];
      if (!set) return undefined;
      sets.push(set);
      at += named[0].length;
      continue;
    }
    const from = memberAt(text, at);
    if (!from) return undefined;
    const isRange = text[from.next] === "-" && from.next + 1 < text.length && text[from.next + 1] !== "]";
    const to = isRange ? memberAt(text, from.next + 1) : from;
    if (!to) return undefined;
    ranges.push({ from: from.code, to: to.code });
    at = to.next;
  }
  const has = (code: number) =>
    ranges.some(({ from, to }) => from <= code && code <= to) ||
    sets.some((set) => set.test(String.fromCharCode(code)));
  return { is: (code) => has(code) !== isNegated, end: at };
}

function memberAt(text: string, at: number): { code: number; next: number } | undefined {
  const start = text[at] === "\\" ? at + 1 : at;
  return start < text.length ? { code: text.charCodeAt(start), next: start + 1 } : undefined;
}

const SETS: Readonly<Record<string, RegExp>> = {
  alnum: /[a-z0-9]/i,
  alpha: /[a-z]/i,
  blank: /[ \t]/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the class of control characters
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[\x21-\x7e]/,
  lower: /[a-z]/,
  print: /[\x20-\x7e]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t-\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9a-f]/i,
};

/** Only the last `*` is ever gone back to: an earlier one cannot do better. */
function nameMatches(tokens: readonly Token[], name: string, effort: Effort): boolean {
  let [token, at, star, from] = [0, 0, -1, 0];
  effort.step();
  while (at < name.length) {
    effort.step();
    if (effort.isSpent) return false;
    const next = tokens[token];
    if (next === "any") [star, from, token] = [token, at, token + 1];
    else if (next !== undefined && isOne(next, name.charCodeAt(at))) [token, at] = [token + 1, at + 1];
    else if (star >= 0) [token, from, at] = [star + 1, from + 1, from + 1];
    else return false;
  }
  while (tokens[token] === "any") token++;
  return token === tokens.length;
}

function isOne(token: number | "one" | CharacterClass, code: number): boolean {
  if (typeof token === "number") return token === code;
  return token === "one" || token(code);
}

/** The same with names for characters and `**` for `*`. */
function pathMatches(segments: readonly Segment[], names: readonly string[], effort: Effort): boolean {
  let [segment, at, star, from] = [0, 0, -1, 0];
  while (at < names.length) {
    effort.step();
    const next = segments[segment];
    if (next === "all below") return true;
    if (next === "any folders") [star, from, segment] = [segment, at, segment + 1];
    else if (next !== undefined && nameMatches(next, names[at] ?? "", effort)) [segment, at] = [segment + 1, at + 1];
    else if (star >= 0) [segment, from, at] = [star + 1, from + 1, from + 1];
    else return false;
    if (effort.isSpent) return false;
  }
  return segment === segments.length;
}
