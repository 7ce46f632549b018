/**
 * What comes first, of the sections that have at least one of the words. Measured on real long dialogues: see
 * docs/decisions/memory.md.
 *
 * R1. A rare word says more than a common one, but a word that is in most sections still says something.
 * R2. A word that a section lacks counts in part when a section beside it has it: in a dialogue the answer often stands
 *     beside the words of the question. A word that it has itself hardly gains by being said again beside it.
 */
export interface Hit {
  id: number;
  score: number;
}

/** How much one word says about each section that has it. */
export type Weights = ReadonlyMap<number, number>;

/** Of the weight of a word that only a section beside has, and of one that the section has itself. */
const BESIDE = 0.3;
const AGAIN_BESIDE = 0.06;
const CANDIDATES = 100;

/** Best first. `filesOf` says which file a section is of; those of a file have numbers in a row. */
export function ranked(
  words: readonly Weights[],
  filesOf: (ids: readonly number[]) => ReadonlyMap<number, number>,
): Hit[] {
  const alone = new Map<number, number>();
  for (const weights of words) for (const [id, weight] of weights) alone.set(id, (alone.get(id) ?? 0) + weight);
  const best = hitsOf(alone).slice(0, CANDIDATES);
  const files = filesOf([...new Set(best.flatMap(({ id }) => [id - 2, id - 1, id, id + 1, id + 2]))]);
  const besideOf = (id: number) =>
    [id - 1, id + 1].filter((each) => files.has(each) && files.get(each) === files.get(id));
  const candidates = new Set(best.flatMap(({ id }) => [id, ...besideOf(id)]));
  return hitsOf(new Map([...candidates].map((id) => [id, scoreOf(id, besideOf(id), words)])));
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
 * How rare a word is, as FTS5's bm25 counts it and as we do. Theirs gives a word that is in more than half of the
 * sections nothing at all: in a dialogue those are the things it is about.
 */
export function rarity(sections: number, having: number): { theirs: number; ours: number } {
  const odds = (sections - having + 0.5) / (having + 0.5);
  return { theirs: Math.max(Math.log(odds), 1e-6), ours: Math.log(1 + odds) };
}

function hitsOf(scores: ReadonlyMap<number, number>): Hit[] {
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || a.id - b.id);
}
