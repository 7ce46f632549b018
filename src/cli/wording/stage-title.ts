import type { Stage } from "../../projections/index.ts";
import { headline } from "./width.ts";

/** A single unnamed stage is just the work itself, so it has no title. */
export function isTold({ number, name }: Pick<Stage, "number" | "name">): boolean {
  return number > 1 || name !== `Stage ${number}`;
}

/** `Stage 2: Synthesis`. */
export function stageHeadline({ number, name }: Pick<Stage, "number" | "name">): string {
  return name === `Stage ${number}` ? name : `Stage ${number}: ${headline(name)}`;
}
