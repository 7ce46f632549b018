import { askControl } from "../../runtime/control.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { lookAtAgent, standingOf } from "../look.ts";

/** Asks the process that works on the agent; when there is none, the stop is recorded here. Twice is as good as once. */
export async function stop(call: Invocation, word: string): Promise<ExitCode> {
  const { settings, now, holder } = await lookAtAgent(call, word);
  const { id, status, created } = now.agent;
  const say = async (words: string, stopped: boolean): Promise<ExitCode> => {
    if (call.json) await call.terminal.printJson({ id, name: created.name, stopped });
    call.terminal.say(`${created.name} (${id}) ${words}`);
    return EXIT.done;
  };
  if (status !== "working") return say(`is not at work: it is ${status}.`, false);
  const { controlPath, openRuntime } = await runtimeRoom();
  const answer = await askControl(controlPath(settings.home), { do: "stop", agent: id });
  if (answer?.ok) return say("is stopped.", true);
  if (answer && standingOf(now, holder) === "interrupted")
    return say("was interrupted before; nobody works on it.", false);
  if (answer) throw new Error(answer.message);
  const runtime = await openRuntime(settings);
  try {
    await (await runtime.agent(id)).stop("human");
    return await say("was interrupted; it is now recorded as stopped.", true);
  } finally {
    await runtime.close();
  }
}

/** Heavy, and mostly not needed: an agent that does not work needs no stopping. */
async function runtimeRoom() {
  const [{ controlPath }, { openRuntime }] = await Promise.all([
    import("../../runtime/runtime.ts"),
    import("../../runtime/open-runtime.ts"),
  ]);
  return { controlPath, openRuntime };
}
