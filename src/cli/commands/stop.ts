import { isAtWork } from "../../projections/index.ts";
import { askControl } from "../../runtime/human/control.ts";
import { controlPath } from "../../runtime/human/control-path.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { lookAtAgent, standingOf } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import { waitsForTriggers } from "../wording/resting.ts";

export function stop(call: Invocation, word: string): Promise<ExitCode> {
  return steer("stop", "stopped", call, word);
}

export function pause(call: Invocation, word: string): Promise<ExitCode> {
  return steer("pause", "paused", call, word);
}

/** Asks the process that works on the agent; when there is none, it is recorded here. Twice is as good as once. */
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
      holder && waitsForTriggers(now) ? ` If pid ${holder.pid} keeps its time, Ctrl-C there ends that.` : "";
    return say(`is not at work: it is ${status}.${keeper}`, false);
  }
  const answer = await askControl(controlPath(settings.home), { do: what, agent: id });
  if (answer?.ok) return say(`is ${done}.`, true);
  if (answer && standingOf(now, holder) === "interrupted")
    return say("was interrupted before; nobody works on it.", false);
  if (answer) throw new Error(answer.message);
  // Heavy, and mostly not needed: an agent that does not work needs no stopping.
  const { openRuntime } = await import("../../runtime/open-runtime.ts");
  const runtime = await openRuntime(settings);
  try {
    const agent = await runtime.agent(id);
    await (what === "stop" ? agent.stop("human") : agent.pause("human"));
    return await say(`was interrupted; it is now recorded as ${done}.`, true);
  } finally {
    await runtime.close();
  }
}
