import type { OpenTrigger, Situation } from "../projections/index.ts";
import { COORDINATOR } from "../protocol/index.ts";
import { nextDue } from "../triggers/due.ts";
import { timestamp } from "./format.ts";

/** `asleep until 14:05`, of an agent that only the clock or somebody's word will wake; undefined while it is awake. */
export function asleepWords(now: Situation, at: number): string | undefined {
  if (!isAsleep(now)) return undefined;
  const times = Object.values(now.triggers.open)
    .filter(wakes)
    .flatMap((trigger) => nextDue(trigger, now, at) ?? []);
  if (times.length > 0) return `asleep until ${moment(Math.min(...times), at)}`;
  return now.agent.status === "completed" ? undefined : "asleep until somebody wakes it";
}

function isAsleep({ agent, roster, board }: Situation): boolean {
  if (agent.status === "completed") return true;
  const coordinator = roster[COORDINATOR];
  if (agent.created.mode !== "infinite" || agent.status !== "working") return false;
  if (coordinator?.status !== "waiting" || coordinator.for !== "news") return false;
  const isOpen = (status: string) => status !== "completed" && status !== "failed";
  return !Object.values(board.nodes).some(({ status, spec }) => spec.run_id === agent.run?.id && isOpen(status));
}

/** A heartbeat wakes nobody while nothing is new, and what is called back is the program's own affair. */
function wakes({ status, when, action }: OpenTrigger): boolean {
  return status === "active" && when.type !== "heartbeat" && action.type !== "run_callback";
}

/** As short as it is clear: to the second when it is soon, with its day when that is another. */
function moment(seconds: number, at: number): string {
  const [day = "", time = ""] = timestamp(seconds).split(" ");
  const short = seconds - at < SOON_SECONDS ? time : time.slice(0, 5);
  return timestamp(at).startsWith(day) ? short : `${day} ${short}`;
}

const SOON_SECONDS = 120;
