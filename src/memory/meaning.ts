import type { SectionHit } from "./ranking.ts";
import type { SectionIndex } from "./section-index.ts";

/**
 * Turns texts into vectors that are close if the meanings are close. Uses a provider, and only if the person chose one.
 */
export interface Embedder {
  /** Vectors of different models are never compared. */
  readonly id: string;
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
}

/** How many new sections one search may have embedded; the others follow with the next ones. */
const NEW_AT_ONCE = 2048;
const BATCH = 64;
const CANDIDATES = 200;

/**
 * The sections closest in meaning, best first. Vectors are stored by the embedded text, so a text is paid for once,
 * even if it moves. If the provider fails, only this part of the ranking is missing.
 */
export async function ranksByMeaning(
  index: SectionIndex,
  query: string,
  embedder: Embedder,
  textAt: (id: number) => Promise<string | undefined>,
  signal: AbortSignal = new AbortController().signal,
): Promise<SectionHit[]> {
  try {
    const known = await vectorsOf(index, embedder, textAt, signal);
    const [wanted] = await embedder.embed([query], signal);
    if (!wanted) return [];
    const hits = known.map(({ id, vector }) => ({ id, score: cosine(wanted, vector) }));
    return hits.sort((a, b) => b.score - a.score).slice(0, CANDIDATES);
  } catch (error) {
    if (signal.aborted) throw error;
    return [];
  }
}

async function vectorsOf(
  index: SectionIndex,
  embedder: Embedder,
  textAt: (id: number) => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<{ id: number; vector: Float32Array }[]> {
  const known: { id: number; vector: Float32Array }[] = [];
  const missing: { id: number; hash: string; text: string }[] = [];
  for (const { id, hash } of index.hashes()) {
    const vector = index.vector(embedder.id, hash);
    if (vector) known.push({ id, vector });
    else if (missing.length < NEW_AT_ONCE) {
      const text = await textAt(id);
      if (text) missing.push({ id, hash, text });
    }
  }
  for (let at = 0; at < missing.length; at += BATCH) {
    const batch = missing.slice(at, at + BATCH);
    const vectors = await embedder.embed(
      batch.map(({ text }) => text),
      signal,
    );
    for (const [place, { id, hash }] of batch.entries()) {
      const vector = vectors[place];
      if (!vector) continue;
      index.keepVector(embedder.id, hash, vector);
      known.push({ id, vector });
    }
  }
  return known;
}

/** Reciprocal ranks, four to one in favour of the words. */
const WORDS = 4;
const MEANING = 1;
const DAMPING = 60;

export function fused(byWords: readonly SectionHit[], byMeaning: readonly SectionHit[]): SectionHit[] {
  if (byMeaning.length === 0) return [...byWords];
  const scores = new Map<number, number>();
  // By meaning it may be the answer by itself.
  const beside = new Set(byWords.flatMap(({ id, isBeside }) => (isBeside ? id : [])));
  for (const { id } of byMeaning) beside.delete(id);
  for (const [hits, weight] of [
    [byWords, WORDS],
    [byMeaning, MEANING],
  ] as const) {
    for (const [rank, { id }] of hits.entries()) scores.set(id, (scores.get(id) ?? 0) + weight / (DAMPING + rank + 1));
  }
  return [...scores]
    .map(([id, score]): SectionHit => (beside.has(id) ? { id, score, isBeside: true } : { id, score }))
    .sort((a, b) => b.score - a.score || a.id - b.id);
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [product, ofA, ofB] = [0, 0, 0];
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [x = 0, y = 0] = [a[at], b[at]];
    product += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return ofA === 0 || ofB === 0 ? 0 : product / Math.sqrt(ofA * ofB);
}
