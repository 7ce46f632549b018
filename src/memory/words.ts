import { datesToFind, dateWords } from "./dates.ts";
import { plainForms } from "./word-forms.ts";

/**
 * What is looked for. Every word is quoted, so that nothing a person or a model writes is taken for an operator; words
 * are joined with "or", and the ranking puts first what has the most and the rarest of them.
 */
export function wordsToFind(query: string): string[] {
  const words = [...new Set(wordsOf(plainForms(query)))];
  const telling = words.filter((word) => !STOPWORDS.has(word));
  const dates = datesToFind(query);
  return [...new Set([...dates, ...(telling.length > 0 ? telling : words)])].slice(0, MOST_WORDS);
}

export function matchOf(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(" OR ");
}

/** More than anyone asks; a pasted page would make a search of everything for everything. */
const MOST_WORDS = 40;

/** Words as the index counts them, in lower case. Scripts without spaces are looked for by pairs of characters. */
export function wordsOf(text: string): string[] {
  return [...text.toLowerCase().matchAll(WORD)].flatMap(([word]) => {
    if (!UNSPACED.test(word)) return [word];
    const parts = spaced(word).trim().split(/\s+/);
    return parts.length === 1 ? parts : parts.slice(1).map((part, at) => `${parts[at]} ${part}`);
  });
}

/** What the index takes in of a text. */
export function wordsToKeep(text: string): string {
  return `${spaced(plainForms(text))}\n${dateWords(text).join(" ")}`;
}

/** Each character of a script without spaces becomes a word of its own, so that any part of a text can be found. */
function spaced(text: string): string {
  return text.replace(EACH_UNSPACED, " $& ");
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Khmer}\p{sc=Lao}\p{sc=Myanmar}]/u;
const EACH_UNSPACED = new RegExp(UNSPACED, "gu");

/** Words that are in every text and tell nothing, and those a question is made of. */
export const STOPWORDS: ReadonlySet<string> = new Set(
  `a about above after again all also am an and any are aren as at be because been before being below between both but by
  can cannot could couldn d did didn do does doesn doing don down during each few for from further get had hadn has hasn
  have haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll m me might
  more most mustn my myself no nor not now of off on once only or other ought our ours ourselves out over own re s same shall
  shan she should shouldn so some such t than that the their theirs them themselves then there these they this those
  through to too under until up upon us ve very was wasn we were weren what when where which while who whom whose why will
  with won would wouldn yet you your yours yourself yourselves`.split(/\s+/),
);
