import {
  type AgentSummaryData,
  type Situation,
  type Standing,
  troublesOf,
  troubleWords,
} from "../../projections/index.ts";
import type { HomeHolder } from "../../store/home/home.ts";
import { asleepWords } from "./asleep.ts";

/**
 * An agent whose status is working while no process works on it was interrupted: its process was killed, or the machine
 * stopped.
 */
export function standingOf(
  { agent }: { agent: Pick<Situation["agent"], "status" | "updated_ts"> },
  holder: HomeHolder | undefined,
): Standing {
  if (agent.status !== "working") return agent.status;
  // Only the holder writes; an agent without a fact since the holder came is none of those it works on.
  // Of an engine, some host works on each of them.
  const isWorkedOn = holder?.engine || (holder !== undefined && agent.updated_ts >= holder.started_ts);
  return isWorkedOn ? "working" : "interrupted";
}

/** A status as people read it, at a time in seconds. */
export function standingWords(status: Standing, now: Situation, at: number): string {
  const [trouble] = troublesOf(now.troubles);
  if (status === "working") return trouble ? troubleWords(trouble) : (asleepWords(now, at) ?? status);
  return status === "waiting_for_human" ? needsYou(Object.keys(now.questions.open).length) : status;
}

/** The same from the data of a list, for an agent that is not asleep. */
export function listedWords(status: Standing, { trouble, open_questions }: AgentSummaryData): string {
  if (status === "working") return trouble ? troubleWords(trouble) : status;
  return status === "waiting_for_human" ? needsYou(open_questions) : status;
}

function needsYou(questions: number): string {
  return questions > 1 ? `needs you (${questions} questions)` : "needs you";
}
