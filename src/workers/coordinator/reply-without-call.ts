import type { Mailbox } from "../../mail/mailbox.ts";
import { deferredBy, runningCommandsOf, type Situation } from "../../projections/index.ts";
import {
  COORDINATOR,
  type Outcome,
  type ReplyEntry,
  type RunId,
  textOf,
  type UserEntry,
} from "../../protocol/index.ts";
import { stillRunning } from "../../tools/background.ts";
import type { CoordinationPort } from "../../tools/coordination.ts";
import { isNoAnswer } from "../loop/missed-calls.ts";
import { isQuiet } from "../loop/shown-history.ts";
import { waitForMail } from "../loop/waiting.ts";
import type { ReplyWithoutCall } from "../loop/work-loop.ts";
import type { Workplace } from "../workplace.ts";
import { BEFORE_SLEEP, isInfinite } from "./cycles.ts";
import { hasMuchToNote, type LongSleep } from "./long-sleep.ts";
import { LEAD } from "./run-start.ts";
import type { Waking } from "./waking.ts";

/** What the coordinator waits for: news of the team, or an answer; null if neither will come. */
export function awaited(team: Pick<CoordinationPort, "unfinished">, { pending }: Workplace): "news" | "human" | null {
  if (team.unfinished() !== null) return "news";
  return deferredBy(pending().questions, COORDINATOR, null).length > 0 ? "human" : null;
}

const PATIENCE = 4;

interface WaitingPorts {
  run: RunId;
  team: Pick<CoordinationPort, "unfinished">;
  mailbox: Mailbox;
  waking: Waking;
  sleep: LongSleep;
  workplace: Workplace;
}

/**
 * A reply without a call while the team works means waiting: the coordinator waits for news, at no cost. When nothing is
 * under way it is asked to finish or go on; a complete answer repeated after that question is taken as the result. A cut
 * answer never is, nor is a promise, an apology, a refusal or a call that was written but not made. Where nodes failed,
 * only `finish` can say that the goal is met all the same.
 */
export function waitOrEnd({ run, team, mailbox, waking, sleep, workplace }: WaitingPorts) {
  return async (found: ReplyWithoutCall, signal: AbortSignal): Promise<Outcome | UserEntry[]> => {
    const reason = awaited(team, workplace);
    if (reason !== null && mailbox.waiting === 0) await waitForMail({ self: LEAD, mailbox, workplace }, reason, signal);
    if (mailbox.waiting > 0) return waking.told(mailbox.take());
    // An infinite agent that has nothing more to say has ended its cycle.
    if (isInfinite(workplace) && (found.missedCall === undefined || found.inARow > 1)) {
      if (found.inARow === 1 && hasMuchToNote(found.history))
        return [{ role: "user", from: "agiraph", content: BEFORE_SLEEP }];
      await sleep.until(signal);
      return waking.told(mailbox.take());
    }
    return endOrAsk(run, found, workplace);
  };
}

/** Nothing is in progress, and the reply cannot be followed: the run ends, or the coordinator is asked. */
export function endOrAsk(
  run: RunId,
  { reply, inARow, missedCall: unheard }: Omit<ReplyWithoutCall, "history">,
  workplace: Workplace,
): Outcome | UserEntry[] {
  // It says of a look that there was nothing to do; of a goal it says nothing.
  const isBeat = isQuiet(reply);
  if (isBeat && workplace.now().agent.run?.trigger) return finished(reply);
  const failed = failedIn(run, workplace.now());
  const isAnswer = reply.finish === "stop" && unheard === undefined && !isNoAnswer(textOf(reply));
  if (!isBeat && inARow > 1 && isAnswer) return failed ? notMet(failed, reply) : finished(reply);
  if (inARow > PATIENCE) return neverFinished(reply);
  const next = failed
    ? `${failed} failed. If the goal is met all the same, call finish and say what is missing; otherwise go on.`
    : "If the goal is met, call finish; otherwise go on.";
  const running = stillRunning(runningCommandsOf(workplace.pending().commands, COORDINATOR));
  const content = unheard ?? `You called no tool and ${running ?? "nothing is under way."} ${next}`;
  return [{ role: "user", from: "agiraph", content }];
}

function neverFinished(reply: ReplyEntry): Outcome {
  const words = textOf(reply).trim();
  const last = words === "" ? "" : ` Its last words: ${words.length > 300 ? `${words.slice(0, 299)}…` : words}`;
  return { kind: "failed", error: `The coordinator stopped calling tools and never finished.${last}` };
}

function failedIn(run: RunId, { board }: Situation): string {
  const failed = Object.values(board.nodes).filter((node) => node.spec.run_id === run && node.status === "failed");
  return failed.map(({ id }) => id).join(", ");
}

function finished(reply: ReplyEntry): Outcome {
  return { kind: "finished", summary: textOf(reply) };
}

function notMet(failed: string, reply: ReplyEntry): Outcome {
  return {
    kind: "failed",
    error: `The coordinator never finished, and ${failed} failed. Its last words: ${textOf(reply)}`,
  };
}
