import type { AgentId } from "../protocol/index.ts";

const LETTERS = "abcdefghjkmnpqrstvwxyz23456789";

export function newAgentId(random: () => number): AgentId {
  const letters = Array.from({ length: 8 }, () => LETTERS[Math.floor(random() * LETTERS.length)]);
  return `agent-${letters.join("")}`;
}

/** A name from the first significant words of the goal. */
export function nameFrom(goal: string): string {
  const words =
    goal
      .toLowerCase()
      .normalize("NFKD")
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => !DULL.has(word));
  return (telling.length > 0 ? telling : words).slice(0, 4).join("-").slice(0, 40) || "agent";
}

/** The name, or the first numbered variant of it that is free. */
export function nameBeside(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name;
  for (let number = 2; ; number++) if (!isTaken(`${name}-${number}`)) return `${name}-${number}`;
}

const DULL = new Set(
  "a an and are at by for from in into is it of on or please that the their then this to what which with".split(" "),
);
