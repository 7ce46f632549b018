import { isAsleep, type Situation, wakes } from "../../projections/index.ts";
import { watchedIn } from "../../runtime/time/trigger-text.ts";
import { nextDue } from "../../triggers/due.ts";
import { timestamp } from "./format.ts";

/** `asleep until 14:05`, for an agent that only the clock or a message will wake; undefined while it is awake. */
export function asleepWords(now: Situation, at: number): string | undefined {
  if (!isAsleep(now)) return undefined;
  const times = Object.values(now.triggers.open)
    .filter(wakes)
    .flatMap((trigger) => nextDue(trigger, now, at) ?? []);
  if (times.length > 0) return `asleep until ${moment(Math.min(...times), at)}`;
  const watched = Object.values(now.triggers.open).find(
    ({ status, when }) => status === "active" && when.type === "on_change",
  );
  if (watched?.when.type === "on_change") return `asleep until ${watchedIn(watched.when.config)} changes`;
  return now.agent.status === "completed" ? undefined : "asleep until someone wakes it";
}

/** As short as is clear: with seconds if it is soon, with the day if it is not today. */
export function moment(seconds: number, at: number): string {
  const [day = "", time = ""] = timestamp(seconds).split(" ");
  const short = seconds - at < SOON_SECONDS ? time : time.slice(0, 5);
  return timestamp(at).startsWith(day) ? short : `${day} ${short}`;
}

const SOON_SECONDS = 120;
