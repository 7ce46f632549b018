/** Something that can be found. */
export interface Findable {
  kind: string;
  text: string;
  /** What it belongs to. */
  of: string;
}

/**
 * Items in which every word of the query occurs, the best match first: an exact name, then a prefix of the name, then
 * of one of its words, then any part, then only what it belongs to. Equal matches keep their order.
 */
export function ranked<T extends Findable>(entries: readonly T[], query: string): T[] {
  const whole = query.toLowerCase().trim().replace(/\s+/g, " ");
  const parts = whole.split(" ").filter(Boolean);
  if (parts.length === 0) return [...entries];
  return entries
    .flatMap((entry) => {
      const text = entry.text.toLowerCase();
      const around = `${entry.kind} ${entry.of}`.toLowerCase();
      const costs = parts.map((part) => costOf(part, text, around));
      const cost = costs.reduce((sum, each) => sum + each, 0) / parts.length;
      return Number.isFinite(cost) ? [{ entry, cost: text === whole ? -2 : text.startsWith(whole) ? -1 : cost }] : [];
    })
    .sort((a, b) => a.cost - b.cost)
    .map(({ entry }) => entry);
}

function costOf(part: string, text: string, around: string): number {
  const at = text.indexOf(part);
  if (at === 0) return 0;
  if (at > 0) return text.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(part)) ? 1 : 2;
  return around.includes(part) ? 3 : Number.POSITIVE_INFINITY;
}
