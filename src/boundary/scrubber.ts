/** A value that must not be written down, and the name that replaces it. */
export interface Secret {
  name: string;
  value: string;
}

/**
 * Replaces known secrets in text from outside with `[redacted: NAME]`.
 *
 * SCRUB-1. A secret is found as it is and as programs commonly write it: escaped for JSON, a URL or HTML, and in base64
 *     wherever it stands in what was encoded.
 * SCRUB-2. A value without secrets is returned unchanged, as the same object.
 * SCRUB-3. Streamed text that may be the beginning of a secret is kept until it is known not to be one.
 */
export interface Scrubber {
  text(text: string): string;
  /** Every string in a value of JSON, names of fields included. */
  value<T>(value: T): T;
  stream(): StreamScrubber;
}

export interface StreamScrubber {
  /** What can be passed on after this piece. */
  push(text: string): string;
  /** What was kept back; the stream starts over. */
  end(): string;
}

export function createScrubber(secrets: readonly Secret[]): Scrubber {
  const names = new Map<string, string>();
  for (const { name, value } of secrets)
    if (isTelling(value))
      for (const spelling of spellingsOf(value)) if (!names.has(spelling)) names.set(spelling, name);
  // The longest first: of two that begin alike none is cut in the middle.
  const spellings = [...names.keys()].sort((a, b) => b.length - a.length);
  if (spellings.length === 0) return NOTHING_TO_HIDE;
  const pattern = new RegExp(
    spellings.map((spelling) => spelling.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"),
    "g",
  );
  const text = (given: string) => given.replace(pattern, (found) => `[redacted: ${names.get(found)}]`);
  return {
    text,
    value: (given) => scrubbed(given, text, 0) as typeof given,
    stream: () => streamScrubber(text, pattern, spellings),
  };
}

const NOTHING_TO_HIDE: Scrubber = {
  text: (text) => text,
  value: (value) => value,
  stream: () => ({ push: (text) => text, end: () => "" }),
};

/** Shorter ones, and words like those that people set where a key is not needed, would tear holes into plain text. */
function isTelling(value: string): boolean {
  return value.length >= 12 || (value.length >= 8 && /\d/.test(value));
}

function spellingsOf(value: string): Set<string> {
  const url = encodeURIComponent(value);
  const html = value.replace(/[&<>"']/g, (letter) => HTML[letter] ?? letter);
  // With and without the escaped slash of PHP, each also in JSON, and in JSON within JSON.
  const plain = [value, value.replaceAll("/", "\\/")];
  const escaped = plain.map(inJson);
  return new Set([
    ...[...plain, ...escaped, ...escaped.map(inJson), html],
    ...[url, url.replace(/%../g, (code) => code.toLowerCase()), url.replaceAll("%20", "+")],
    ...[0, 1, 2].flatMap((shift) => inBase64(value, shift)),
  ]);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const HTML: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** The letters of base64 that depend on the secret alone, where `shift` bytes (of every three) come before it. */
function inBase64(value: string, shift: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(value)]);
  const certain = bytes.toString("base64").slice(Math.ceil((shift * 8) / 6), Math.floor((bytes.length * 8) / 6));
  return [certain, certain.replaceAll("+", "-").replaceAll("/", "_")];
}

/** Nothing that is worth keeping is nested deeper, and going down without a limit would exhaust the stack. */
const DEEPEST = 500;

function scrubbed(value: unknown, text: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) return "[nested too deeply]";
  if (Array.isArray(value)) {
    const items = value.map((item) => scrubbed(item, text, depth + 1));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  let isSame = true;
  const fields = Object.entries(value).map(([key, field]) => {
    const kept = [text(key), scrubbed(field, text, depth + 1)] as const;
    if (kept[0] !== key || kept[1] !== field) isSame = false;
    return kept;
  });
  return isSame ? value : Object.fromEntries(fields);
}

function streamScrubber(text: (text: string) => string, pattern: RegExp, spellings: readonly string[]): StreamScrubber {
  const byLetter = Map.groupBy(spellings, (spelling) => spelling[0]);
  const longest = spellings[0]?.length ?? 0;
  let rest = "";

  /** Where the first ending begins that may be the beginning of a secret. */
  function openFrom(said: string): number {
    for (let at = Math.max(0, said.length - longest + 1); at < said.length; at++) {
      const candidates = byLetter.get(said[at]);
      if (!candidates) continue;
      const ending = said.slice(at);
      if (candidates.some((spelling) => spelling.length > ending.length && spelling.startsWith(ending))) return at;
    }
    return said.length;
  }

  return {
    push(added) {
      rest += added;
      let open = openFrom(rest);
      // A whole one that goes on beyond that place is not cut in two.
      for (const found of rest.matchAll(pattern))
        if (found.index < open) open = Math.max(open, found.index + found[0].length);
      const known = text(rest.slice(0, open));
      rest = rest.slice(open);
      return known;
    },
    end() {
      const last = text(rest);
      rest = "";
      return last;
    },
  };
}
