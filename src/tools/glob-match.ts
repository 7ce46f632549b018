/**
 * Whether a path matches a pattern with `*`, `?`, `[abc]`, `{a,b}` and `**` (any folders). A pattern without a slash
 * matches only the last name.
 *
 * GLOB-1. The time is at most the length of the pattern times that of the path, for each alternative in braces, of
 *     which at most 100 are tried: no pattern can block us.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  const alternatives = alternativesOf(pattern).map((names) => names.map(tokensOf));
  return (path) => {
    const names = path.split("/");
    return alternatives.some((segments) =>
      segments.length === 1 && segments[0] !== ANY_FOLDERS
        ? nameMatches(segments[0] ?? [], names.at(-1) ?? "")
        : pathMatches(segments, names),
    );
  };
}

/** The folders that contain all matches: the folders of a pattern, as far as they are plain; "" is anywhere. */
export function startsOf(pattern: string): string[] {
  const starts = alternativesOf(pattern).map((names) => {
    const folders = names.slice(0, -1);
    const wild = folders.findIndex((name) => /[*?[]/.test(name));
    return folders.slice(0, wild < 0 ? folders.length : wild).join("/");
  });
  return [...new Set(starts)];
}

const MOST_ALTERNATIVES = 100;

function alternativesOf(pattern: string): string[][] {
  return expanded(pattern).map((each) => each.replace(/^(?:\.?\/+)+/, "").split("/"));
}

type Token = { kind: "one"; is(character: string): boolean } | { kind: "any" };
type PatternSegment = readonly Token[] | typeof ANY_FOLDERS;
const ANY_FOLDERS = "**";

/** `a{b,c}d` → `abd`, `acd`; nested too. What is never closed stands for itself. */
function expanded(pattern: string): string[] {
  const found: string[] = [];
  const open = [pattern];
  while (open.length > 0 && found.length + open.length <= MOST_ALTERNATIVES) {
    const next = open.pop() ?? "";
    const braces = innermost(next);
    if (!braces) found.push(next);
    else {
      const [head, tail] = [next.slice(0, braces.from), next.slice(braces.to + 1)];
      const choices = next.slice(braces.from + 1, braces.to).split(",");
      open.push(...choices.slice(0, MOST_ALTERNATIVES).map((choice) => `${head}${choice}${tail}`));
    }
  }
  return [...found, ...open].slice(0, MOST_ALTERNATIVES);
}

function innermost(pattern: string): { from: number; to: number } | undefined {
  const to = pattern.indexOf("}");
  const from = to < 0 ? -1 : pattern.lastIndexOf("{", to);
  return from < 0 ? undefined : { from, to };
}

function tokensOf(segment: string): PatternSegment {
  if (segment === "**") return ANY_FOLDERS;
  const tokens: Token[] = [];
  const characters = [...segment];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? "";
    if (character === "*") {
      if (tokens.at(-1)?.kind !== "any") tokens.push({ kind: "any" });
    } else if (character === "?") tokens.push({ kind: "one", is: () => true });
    else if (character === "[" && characters.indexOf("]", at + 2) > 0) {
      const end = characters.indexOf("]", at + 2);
      tokens.push({ kind: "one", is: classOf(characters.slice(at + 1, end)) });
      at = end;
    } else tokens.push({ kind: "one", is: (other) => other === character });
  }
  return tokens;
}

/** `[a-z_]`, `[!0-9]`. */
function classOf(inside: readonly string[]): (character: string) => boolean {
  const isNegated = inside[0] === "!" || inside[0] === "^";
  const members = isNegated ? inside.slice(1) : inside;
  const has = (character: string) =>
    members.some((member, i) => {
      if (member === "-" && i > 0 && i < members.length - 1)
        return (members[i - 1] ?? "") <= character && character <= (members[i + 1] ?? "");
      return member === character;
    });
  return (character) => has(character) !== isNegated;
}

/** Only the last `*` is ever gone back to: an earlier one cannot do better. */
function nameMatches(tokens: PatternSegment, name: string): boolean {
  if (tokens === ANY_FOLDERS) return true;
  const characters = [...name];
  let [token, at, star, from] = [0, 0, -1, 0];
  while (at < characters.length) {
    const next = tokens[token];
    if (next?.kind === "any") [star, from, token] = [token, at, token + 1];
    else if (next?.kind === "one" && next.is(characters[at] ?? "")) [token, at] = [token + 1, at + 1];
    else if (star >= 0) [token, from, at] = [star + 1, from + 1, from + 1];
    else return false;
  }
  return tokens.slice(token).every(({ kind }) => kind === "any");
}

/** The same with names for characters and `**` for `*`. */
function pathMatches(segments: readonly PatternSegment[], names: readonly string[]): boolean {
  let [segment, at, star, from] = [0, 0, -1, 0];
  while (at < names.length) {
    const next = segments[segment];
    if (next === ANY_FOLDERS) [star, from, segment] = [segment, at, segment + 1];
    else if (next !== undefined && nameMatches(next, names[at] ?? "")) [segment, at] = [segment + 1, at + 1];
    else if (star >= 0) [segment, from, at] = [star + 1, from + 1, from + 1];
    else return false;
  }
  return segments.slice(segment).every((rest) => rest === ANY_FOLDERS);
}
