/** How often each telling word occurs, most frequent first; equals in alphabetical order. */
export type Terms = [term: string, count: number][];

/** Everything that a person would count as a word. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize("NFC");
  if (!WITHOUT_SPACES.test(plain)) return plain.match(WORD) ?? [];
  // Languages that write no spaces need a dictionary, which the platform has.
  return [...segmenter().segment(plain)].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []));
}

export function termsOf(words: readonly string[], most: number): Terms {
  const counts = new Map<string, number>();
  for (const word of words) {
    const term = word.toLowerCase().replace(/['’]s$/, "");
    if (isTelling(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return ranked(singulars(counts), most);
}

/** The terms of many texts as one, each with the number of texts that have it. */
export function sharedTerms(texts: readonly Terms[], most: number): { term: string; count: number; texts: number }[] {
  const counts = new Map<string, number>();
  const spread = new Map<string, number>();
  for (const [term, count] of texts.flat()) {
    counts.set(term, (counts.get(term) ?? 0) + count);
    spread.set(term, (spread.get(term) ?? 0) + 1);
  }
  // What many texts say a little of tells more about all of them than what one says a lot of.
  const weight = (term: string, count: number) => (spread.get(term) ?? 0) * Math.sqrt(count);
  return [...counts]
    .filter(([, count]) => count > 1)
    .sort(([a, x], [b, y]) => weight(b, y) - weight(a, x) || (a < b ? -1 : 1))
    .slice(0, most)
    .map(([term, count]) => ({ term, count, texts: spread.get(term) ?? 0 }));
}

export function isTelling(term: string): boolean {
  if (DULL.has(term) || /^[\p{N}'’_-]+$/u.test(term)) return false;
  return term.length >= 3 || WITHOUT_SPACES.test(term);
}

/** Counts `workers` as `worker`, when both occur. */
function singulars(counts: ReadonlyMap<string, number>): Map<string, number> {
  const merged = new Map(counts);
  for (const [term, count] of counts) {
    const singular = term.endsWith("s") ? term.slice(0, -1) : undefined;
    const base = singular === undefined ? undefined : merged.get(singular);
    if (singular === undefined || base === undefined) continue;
    merged.set(singular, base + count);
    merged.delete(term);
  }
  return merged;
}

function ranked(counts: ReadonlyMap<string, number>, most: number): Terms {
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, most);
}

const WORD = /[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_]|['’-](?=[\p{L}\p{N}]))*/gu;
const WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

let words: Intl.Segmenter | undefined;
/** Loading its dictionary takes a while, and most projects never need it. */
function segmenter(): Intl.Segmenter {
  words ??= new Intl.Segmenter("und", { granularity: "word" });
  return words;
}

const DULL = new Set(
  `a about above after again against all also always am among an and another any are aren't around as at away back be
  because been before being below between both but by can can't cannot could did didn't do does doesn't doing don't done
  down during each either else even ever every few first for from further get gets given go goes going got had has have
  having he her here hers him his how however i if in instead into is isn't it it's its itself just keep kept last least
  less let like made make makes many may maybe me mean means might more most much must my need needs neither never new next
  no nobody none nor not nothing now of off often on once one only or other others our out over own per perhaps put rather
  same say says see seen several shall she should since so some something soon still such take than that the their them
  then there these they thing things this those three through thus to together too two under until up upon us use used
  uses using very via want wants was way we well were what when where whether which while who whole whom whose why will
  with within without won't would yes yet you your yours you're i'm e.g etc http https www com org html
  aber alle als also am an auch auf aus bei bis das dass dem den der des die dies diese dieser durch ein eine einem einen
  einer eines er es für hat haben ich ihr im ist kann man mehr mit nach nicht noch nur oder sich sie sind so über um und
  uns von vor war was wenn wer werden wie wir wird zu zum zur
  au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur mais nous on ou par pas plus pour que
  qui sa se ses son sont sur un une vous
  al como con cuando del desde donde el ella entre era esta este esto está hay las los más muy para pero por porque que
  según ser si sin sobre su sus también tiene una uno y ya
  const let var function return import export class def true false null undefined void string number boolean async await
  type interface public private protected static readonly self int float str elif else try catch except finally throw raise
  none declare extends implements returns param todo fixme`.split(/\s+/),
);
