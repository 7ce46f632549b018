/** What an index knows about its words. */
export interface Vocabulary {
  isKnown(word: string): boolean;
  /** Words that begin or end with this. */
  longer(part: string): string[];
}

const SHORTEST_PART = 3;
const SHORTEST_IN_COMPOUND = 5;
/** A shorter word, or one that begins otherwise, is more often another word than a slip. */
const SHORTEST_TO_CORRECT = 6;
const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];

/**
 * Alternatives for a word that is not in the index: two words written as one, part of a compound, otherwise a word that
 * differs by one letter. Empty if nothing is close.
 */
export function nearWords(word: string, { isKnown, longer }: Vocabulary): string[] {
  const parts = splits(word).filter((pair) => isKnown(pair));
  const compounds = word.length >= SHORTEST_IN_COMPOUND ? longer(word) : [];
  if (parts.length + compounds.length > 0) return [...parts, ...compounds];
  return word.length >= SHORTEST_TO_CORRECT
    ? oneLetterAway(word).filter((each) => each[0] === word[0] && isKnown(each))
    : [];
}

/** "notebook" as "note book", which stand beside each other in the text. */
function splits(word: string): string[] {
  const places = Array.from(
    { length: Math.max(0, word.length - 2 * SHORTEST_PART + 1) },
    (_, at) => at + SHORTEST_PART,
  );
  return places.map((at) => `${word.slice(0, at)} ${word.slice(at)}`);
}

/** Every word that one letter more, less or other makes of it, or two that changed places. */
function oneLetterAway(word: string): string[] {
  const letters = [...word];
  const away = new Set<string>();
  const put = (at: number, taken: number, ...instead: string[]) =>
    away.add([...letters.slice(0, at), ...instead, ...letters.slice(at + taken)].join(""));
  for (const at of Array(letters.length + 1).keys()) {
    const [here, next] = [letters[at], letters[at + 1]];
    if (here !== undefined) put(at, 1);
    if (here !== undefined && next !== undefined) put(at, 2, next, here);
    for (const letter of LETTERS) {
      put(at, 0, letter);
      if (here !== undefined) put(at, 1, letter);
    }
  }
  away.delete(word);
  return [...away];
}
