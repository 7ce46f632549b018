/**
 * Ranks the sections that contain at least one of the words. Measured on real long dialogues: see
 * docs/decisions/memory.md.
 *
 * RANKING-1. A rare word counts more than a common one, but a word that is in most sections still counts.
 * RANKING-2. A word that a section lacks counts in part if a neighbouring section has it: in a dialogue the answer is
 *     often next to the words of the question. A word that the section has itself gains little from its neighbours.
 * RANKING-3. Of two sections that match about equally well, the newer comes first, since facts change.
 */
export interface SectionHit {
  id: number;
  score: number;
  /** It has none of the words itself: a section beside it does. */
  isBeside?: true;
}

/** How much one word counts for each section that contains it. */
export type Weights = ReadonlyMap<number, number>;

/** Of the weight of a word that only a section beside has, and of one that the section has itself. */
const BESIDE = 0.3;
const AGAIN_BESIDE = 0.06;
const CANDIDATES = 100;

/**
 * Best first. `filesOf` maps a section to its file; the sections of a file have consecutive numbers. Pauses after each
 * time slice, since common words are in very many sections.
 */
export async function rankedSections(
  words: readonly Weights[],
  filesOf: (ids: readonly number[]) => ReadonlyMap<number, number>,
  slices: Slices,
): Promise<SectionHit[]> {
  const alone = new Map<number, number>();
  for (const weights of words)
    for (const [id, weight] of weights) {
      alone.set(id, (alone.get(id) ?? 0) + weight);
      if (slices.isDue) await slices.rest();
    }
  const best = await bestOf(alone, slices);
  const files = filesOf([...new Set(best.flatMap(({ id }) => [id - 2, id - 1, id, id + 1, id + 2]))]);
  const besideOf = (id: number) =>
    [id - 1, id + 1].filter((each) => files.has(each) && files.get(each) === files.get(id));
  const candidates = new Set(best.flatMap(({ id }) => [id, ...besideOf(id)]));
  return [...candidates]
    .map((id): SectionHit => {
      const score = scoreOf(id, besideOf(id), words);
      return alone.has(id) ? { id, score } : { id, score, isBeside: true };
    })
    .sort(byScore);
}

/** Does work in slices, so that it does not block the process. */
export interface Slices {
  readonly isDue: boolean;
  rest(): Promise<void>;
}

/** The first of them, without putting all the others in order. */
async function bestOf(scores: ReadonlyMap<number, number>, slices: Slices): Promise<SectionHit[]> {
  let best: SectionHit[] = [];
  let least = Number.NEGATIVE_INFINITY;
  for (const [id, score] of scores) {
    if (slices.isDue) await slices.rest();
    if (score < least) continue;
    best.push({ id, score });
    if (best.length < 4 * CANDIDATES) continue;
    best = best.sort(byScore).slice(0, CANDIDATES);
    least = best.at(-1)?.score ?? least;
  }
  return best.sort(byScore).slice(0, CANDIDATES);
}

function scoreOf(id: number, beside: readonly number[], words: readonly Weights[]): number {
  let score = 0;
  for (const weights of words) {
    const own = weights.get(id);
    const around = beside.reduce((sum, each) => sum + (weights.get(each) ?? 0), 0);
    score += own === undefined ? BESIDE * around : own + AGAIN_BESIDE * around;
  }
  return score;
}

/**
 * How rare a word is, as FTS5's bm25 counts it and as we do. In theirs a word that is in more than half of the sections
 * counts nothing: in a dialogue those are the words for what it is about.
 */
export function rarity(sections: number, having: number): { theirs: number; ours: number } {
  const odds = (sections - having + 0.5) / (having + 0.5);
  return { theirs: Math.max(Math.log(odds), 1e-6), ours: Math.log(1 + odds) };
}

/** What the newest section gains over the oldest, as a part of its score; and where both have the same words. */
const NEWER = 0.1;
const NEWER_OF_THE_SAME = 2;
/** So much of the words that are anywhere has a section that may well be the answer. */
const MOST_WORDS = 0.75;

/**
 * The same hits with newer ones before older ones that match as well (RANKING-3). Sections that contain most of the
 * words, and the same ones, are about the same thing: they are sorted by age among the places that they had. `ageOf` is
 * 0 for the newest section, 1 for the oldest.
 */
export function newerFirst(
  hits: readonly SectionHit[],
  words: readonly Weights[],
  ageOf: (id: number) => number,
): SectionHit[] {
  const newer = hits.map((hit) => ({ ...hit, score: hit.score * (1 + NEWER * (1 - ageOf(hit.id))) })).sort(byScore);
  const known = words.filter((weights) => weights.size > 0);
  const alike = Map.groupBy(newer.keys(), (at) => known.map((weights) => weights.has(newer[at]?.id ?? -1)).join());
  for (const [which, places] of alike) {
    if (which.split(",").filter((has) => has === "true").length < MOST_WORDS * known.length) continue;
    const weighed = places
      .flatMap((at) => newer[at] ?? [])
      .map((hit) => ({
        hit,
        score: hit.score * (1 + NEWER_OF_THE_SAME * (1 - ageOf(hit.id))),
      }));
    weighed.sort((a, b) => b.score - a.score || a.hit.id - b.hit.id);
    for (const [at, { hit }] of weighed.entries()) newer[places[at] ?? 0] = hit;
  }
  return newer;
}

function byScore(a: SectionHit, b: SectionHit): number {
  return b.score - a.score || a.id - b.id;
}
