import { type Situation, type Standing, troublesOf } from "../../projections/index.ts";
import type { Paint } from "./paint.ts";

/** The colour of a status; it says the same as the word. */
export function standingPaint(
  status: Standing,
  { troubles }: Pick<Situation, "troubles">,
  paint: Paint,
): (text: string) => string {
  return paintOf(status, troublesOf(troubles).length > 0, paint);
}

export function paintOf(status: Standing, isInTrouble: boolean, paint: Paint): (text: string) => string {
  if (status === "working" && isInTrouble) return paint.red;
  switch (status) {
    case "completed":
      return paint.green;
    case "working":
      return paint.blue;
    case "failed":
      return paint.red;
    case "interrupted":
    case "waiting_for_human":
      return paint.yellow;
    default:
      return paint.dim;
  }
}
