/** The names most like the wanted one, best first: what someone who mistyped it may have meant. */
export function nearest(wanted: string, names: readonly string[], limit: number): string[] {
  const far = new Map(names.slice(0, 500).map((name) => [name, distance(wanted.toLowerCase(), name.toLowerCase())]));
  return [...far.keys()].sort((a, b) => (far.get(a) ?? 0) - (far.get(b) ?? 0)).slice(0, limit);
}

/** Levenshtein's: how many letters to change, add or drop. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
