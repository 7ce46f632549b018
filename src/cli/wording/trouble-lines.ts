import { type Situation, type Trouble, troublesOf } from "../../projections/index.ts";
import { timestamp } from "./format.ts";
import { displayName } from "./names.ts";
import { plain } from "./width.ts";

/** Whose model does not answer, since when, and what is being done about it. */
export function troubleLines({ troubles, roster }: Situation): string[] {
  return troublesOf(troubles).flatMap((trouble) => [
    `${displayName(roster, trouble.worker_id)}: ${plain(trouble.message)}`,
    `  ${triesOf(trouble)} failed since ${timeOf(trouble.since_ts)}${nextTry(trouble)}`,
  ]);
}

function nextTry({ retry_ts }: Trouble): string {
  return retry_ts === null ? "" : `; the next at ${timeOf(retry_ts)}`;
}

function timeOf(seconds: number): string {
  return timestamp(seconds).slice(11);
}

function triesOf({ tries }: Trouble): string {
  return tries === 1 ? "one try" : `${tries} tries`;
}
