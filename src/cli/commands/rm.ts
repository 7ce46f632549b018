import { askControl } from "../../runtime/control.ts";
import { controlPath } from "../../runtime/control-path.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { lookAtAgent } from "../look.ts";

/** Stops an agent and puts it out of sight, or brings it back. Nothing is erased; twice is as good as once. */
export async function rm(call: Invocation, word: string, { undo = false }: { undo?: boolean }): Promise<ExitCode> {
  const { settings, now } = await lookAtAgent(call, word);
  const { id, created } = now.agent;
  const what = undo ? "restore" : "archive";
  const answer = await askControl(controlPath(settings.home), { do: what, agent: id });
  if (answer && !answer.ok) throw new Refusal(answer.message);
  if (!answer) {
    // Heavy, and not needed where a server runs.
    const { openRuntime } = await import("../../runtime/open-runtime.ts");
    const runtime = await openRuntime(settings);
    try {
      const agent = await runtime.agent(id);
      await (undo ? agent.restore("human") : agent.archive("human"));
    } finally {
      await runtime.close();
    }
  }
  if (call.json) await call.terminal.printJson({ id, name: created.name, archived: !undo });
  call.terminal.say(
    undo
      ? `${created.name} (${id}) is back.`
      : `${created.name} (${id}) is put away; nothing was erased. Bring it back: ${commandLine(call, "rm", id, "--undo")}`,
  );
  return EXIT.done;
}
