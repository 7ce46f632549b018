/** Chance from a seed: the same seed throws the same dice. */
export interface Dice {
  /** In [0, 1). */
  random(): number;
  chance(probability: number): boolean;
  /** 0 … below − 1. */
  int(below: number): number;
  between(least: number, most: number): number;
  pick<T>(list: readonly T[]): T;
  /** One of the names, each as likely as its weight. */
  weighed<K extends string>(weights: Readonly<Record<K, number>>): K;
}

/** Seeded by whatever the parts say, so that each decision can have dice of its own. */
export function diceOf(...parts: readonly (string | number)[]): Dice {
  const random = mulberry32(hashOf(parts.join("\u0000")));
  const int = (below: number) => Math.floor(random() * below);
  return {
    random,
    chance: (probability) => random() < probability,
    int,
    between: (least, most) => least + int(most - least + 1),
    pick: <T>(list: readonly T[]) => list[int(list.length)] as T,
    weighed: <K extends string>(weights: Readonly<Record<K, number>>) => {
      const names = Object.keys(weights) as K[];
      let left = random() * names.reduce((sum, name) => sum + weights[name], 0);
      for (const name of names) {
        left -= weights[name];
        if (left < 0) return name;
      }
      return names[0] as K;
    },
  };
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** FNV-1a, and a last stir: neighbouring seeds must not begin alike. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) | 0;
}
