import type { AgentId } from "../protocol/index.ts";

const LETTERS = "abcdefghjkmnpqrstvwxyz23456789";

export function newAgentId(random: () => number): AgentId {
  const letters = Array.from({ length: 8 }, () => LETTERS[Math.floor(random() * LETTERS.length)]);
  return `agent-${letters.join("")}`;
}

/** A name from the first significant words of the goal. */
export function nameFrom(goal: string): string {
  // Composed, as people type it; a mark belongs to the letter before it.
  const composed = goal.slice(0, MOST_READ).normalize("NFKC").toLowerCase();
  const words = composed.match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu) ?? [];
  const telling = words.filter((word) => !DULL.has(word));
  const name = (telling.length > 0 ? telling : words).slice(0, 4).join("-");
  return firstLetters(name, LONGEST) || "agent";
}

/** Never half a letter. */
function firstLetters(text: string, most: number): string {
  let kept = "";
  for (const { segment } of letters.segment(text)) {
    if (kept.length + segment.length > most) break;
    kept += segment;
  }
  return kept.replace(/-+$/, "");
}

const letters = new Intl.Segmenter("en");
const LONGEST = 40;
const MOST_READ = 2_000;

/** The name, or the first numbered variant of it that is free. */
export function nameBeside(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name;
  for (let number = 2; ; number++) if (!isTaken(`${name}-${number}`)) return `${name}-${number}`;
}

const DULL = new Set(
  "a an and are at by for from in into is it of on or please that the their then this to what which with".split(" "),
);
