import { isAtWork } from "../../projections/index.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { lookAtAgent } from "../home/look.ts";
import { give } from "../home/reach-home.ts";
import type { Invocation } from "../invocation.ts";
import { waitsForTriggers } from "../wording/resting.ts";
import { standingOf } from "../wording/standing.ts";

export function stop(call: Invocation, word: string): Promise<ExitCode> {
  return steer("stop", "stopped", call, word);
}

export function pause(call: Invocation, word: string): Promise<ExitCode> {
  return steer("pause", "paused", call, word);
}

/** Done by the process that works on the agent; if there is none, recorded here. Repeating it changes nothing. */
async function steer(
  what: "stop" | "pause",
  done: "stopped" | "paused",
  call: Invocation,
  word: string,
): Promise<ExitCode> {
  const { settings, now, holder } = await lookAtAgent(call, word);
  const { id, status, created } = now.agent;
  const say = async (words: string, changed: boolean): Promise<ExitCode> => {
    if (call.json) await call.terminal.printJson({ id, name: created.name, [done]: changed });
    call.terminal.say(`${created.name} (${id}) ${words}`);
    return EXIT.done;
  };
  if (!isAtWork(status)) {
    const keeper =
      holder && waitsForTriggers(now) ? ` If pid ${holder.pid} waits for its triggers, Ctrl-C there ends that.` : "";
    return say(`is not at work: it is ${status}.${keeper}`, false);
  }
  await give(settings, { do: what, id });
  const wasInterrupted = standingOf(now, holder) === "interrupted";
  return say(wasInterrupted ? `was interrupted; it is now recorded as ${done}.` : `is ${done}.`, true);
}
