import { datesToFind, dateWords } from "./dates.ts";
import { plainForms } from "./word-forms.ts";

/** One word of a question, with its spellings, any of which matches. */
export type Term = readonly [string, ...string[]];

/**
 * The words to search for. Every word is quoted, so that nothing in the query is taken for an operator. Words are
 * joined with "or", and the ranking puts the sections with the most and the rarest of them first.
 */
export function termsToFind(query: string): Term[] {
  const spellings = new Map([...query.matchAll(WORD)].map(([word]) => [plainForms(word).toLowerCase(), word]));
  const words = [...new Set(wordsIn(plainForms(query)))];
  const telling = words.filter((word) => !STOPWORDS.has(word));
  const dates = datesToFind(query);
  const found = [...new Set([...dates, ...(telling.length > 0 ? telling : words)])].slice(0, MOST_WORDS);
  return found.map((word) => [word, ...otherSpellings(spellings.get(word) ?? word)]);
}

export function matchOf(term: Term): string {
  return term.map((word) => `"${word}"`).join(" OR ");
}

/** How else a word may stand in a text: `maxHops` as "max hops", "München" as "Muenchen". */
function otherSpellings(word: string): string[] {
  const parts = camelParts(word);
  return [...(parts.length > 1 ? [parts.join(" ")] : []), ...(UMLAUT.test(word) ? [withoutUmlauts(word)] : [])];
}

/** The parts of a camelCase name, in lower case; of any other word only itself. */
function camelParts(word: string): string[] {
  return word.split(CAMEL_SEAM).map((part) => part.toLowerCase());
}

const CAMEL_SEAM = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const UMLAUT = /[äöü]/i;

function withoutUmlauts(word: string): string {
  return word.toLowerCase().replaceAll("ä", "ae").replaceAll("ö", "oe").replaceAll("ü", "ue");
}

/** More than anyone asks; a pasted page would make a search of everything for everything. */
const MOST_WORDS = 40;

/** Words as the index counts them, in lower case. Text in scripts without spaces is split into pairs of characters. */
export function wordsIn(text: string): string[] {
  return [...text.toLowerCase().matchAll(WORD)].flatMap(([word]) => {
    if (!UNSPACED.test(word)) return [word];
    const parts = spaced(word).trim().split(/\s+/);
    return parts.length === 1 ? parts : parts.slice(1).map((part, at) => `${parts[at]} ${part}`);
  });
}

/** The words of a text that the index stores. */
export function wordsToKeep(text: string): string {
  return `${spaced(plainForms(text))}\n${dateWords(text).join(" ")}\n${spelledOut(text)}`;
}

/** What is in a text under another spelling: the parts of camelCase names, umlauts as two letters. */
function spelledOut(text: string): string {
  const words = new Set<string>();
  for (const [word] of text.normalize("NFC").matchAll(CAMEL_OR_UMLAUT)) {
    const parts = camelParts(word);
    if (parts.length > 1) words.add(plainForms(parts.join(" ")));
    if (UMLAUT.test(word)) words.add(withoutUmlauts(word));
  }
  return [...words].join(" ");
}

const CAMEL_OR_UMLAUT = /[\p{L}\p{N}]*(?:[\p{Ll}\p{N}]\p{Lu}|\p{Lu}{2}\p{Ll}|[äöüÄÖÜ])[\p{L}\p{N}]*/gu;

/** Each character of a script without spaces becomes a word of its own, so that any part of a text can be found. */
function spaced(text: string): string {
  return text.replace(EACH_UNSPACED, " $& ");
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Korean is written with spaces, but particles are attached to the words before them: 학교에서 is found by 학교. */
const UNSPACED =
  /[\p{sc=Hangul}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Khmer}\p{sc=Lao}\p{sc=Myanmar}]/u;
const EACH_UNSPACED = new RegExp(UNSPACED, "gu");

/** Words that occur in every text and carry no information, and question words. */
export const STOPWORDS: ReadonlySet<string> = new Set(
  `a about above after again all also am an and any are aren as at be because been before being below between both but by
  can cannot could couldn d did didn do does doesn doing don down during each few for from further get had hadn has hasn
  have haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll m me might
  more most mustn my myself no nor not now of off on once only or other ought our ours ourselves out over own re s same shall
  shan she should shouldn so some such t than that the their theirs them themselves then there these they this those
  through to too under until up upon us ve very was wasn we were weren what when where which while who whom whose why will
  with won would wouldn yet you your yours yourself yourselves`.split(/\s+/),
);
