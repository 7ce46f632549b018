/** The names closest to what was typed, best first; none when nothing comes near. */
export function nearest(typed: string, names: readonly string[], atMost = 3): string[] {
  // With two of three letters changed, any short name would do.
  const reach = typed.length <= 3 ? 1 : Math.max(2, Math.floor(typed.length / 4));
  return ranked(typed, names)
    .filter(({ far }) => far <= reach)
    .slice(0, atMost)
    .map(({ name }) => name);
}

/** The names most similar to the one typed, best first, however different they are. */
export function closest(typed: string, names: readonly string[], atMost: number): string[] {
  return ranked(typed, names)
    .slice(0, atMost)
    .map(({ name }) => name);
}

/** ` Did you mean "path"?`, or nothing. Also finds a name that contains the typed one, or is contained in it. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const bare = bareName(typed);
  const alike = () => names.find((name) => isWithin(bareName(name), bare) || isWithin(bare, bareName(name)));
  const near = nearest(typed, names, 1)[0] ?? alike();
  return near === undefined || isOtherNumber(typed, near) ? "" : ` Did you mean "${near}"?`;
}

/** `node-3` is not a misspelt `node-12`: which number was meant, nobody can guess. */
function isOtherNumber(typed: string, near: string): boolean {
  const stem = /^(\w+-)\d+$/.exec(typed)?.[1]?.toLowerCase();
  return stem !== undefined && near.toLowerCase().startsWith(stem) && /^\d+$/.test(near.slice(stem.length));
}

/** Shorter ones are within almost every name. */
const SHORTEST_PART = 3;

function isWithin(part: string, whole: string): boolean {
  return part.length >= SHORTEST_PART && whole.includes(part);
}

function bareName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** A model may send anything as a name; what is longer than any name of ours is compared by its beginning. */
const LONGEST_NAME = 200;

function ranked(typed: string, names: readonly string[]): { name: string; far: number }[] {
  const wanted = typed.slice(0, LONGEST_NAME).toLowerCase();
  return names.map((name) => ({ name, far: distance(wanted, name.toLowerCase()) })).sort((a, b) => a.far - b.far);
}

/** Edit distance: letters inserted, deleted, replaced, or two neighbours swapped. */
function distance(a: string, b: string): number {
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(at(previous, j) + 1, at(row, j - 1) + 1, replaced);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, at(older, j - 2) + 1);
      row.push(best);
    }
    older = previous;
    previous = row;
  }
  return at(previous, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
