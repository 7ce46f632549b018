import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { lookAtAgent, lookAtNamed } from "../home/look.ts";
import { give } from "../home/reach-home.ts";
import { commandLine, type Invocation } from "../invocation.ts";

export interface RemoveOptions {
  undo?: boolean;
  purge?: boolean;
  yes?: boolean;
}

/**
 * Stops and archives an agent, or restores it. Nothing is erased, and repeating it changes nothing. Only `--purge`
 * erases it permanently.
 */
export async function rm(call: Invocation, word: string, options: RemoveOptions): Promise<ExitCode> {
  const { undo = false } = options;
  if (options.purge && undo)
    throw new UsageError("Give either --purge (erases for good) or --undo (brings back), not both.");
  if (options.yes && !options.purge)
    throw new UsageError("--yes is for --purge, which asks before it erases. Add --purge, or leave --yes out.");
  if (options.purge) return (await import("./purge.ts")).purge(call, word, options.yes === true);
  const { settings, now } = await (undo ? lookAtNamed(call, word, "restore that one") : lookAtAgent(call, word));
  const { id, created } = now.agent;
  await give(settings, { do: undo ? "restore" : "archive", id });
  if (call.json) await call.terminal.printJson({ id, name: created.name, archived: !undo });
  call.terminal.say(
    undo
      ? `${created.name} (${id}) is back.`
      : `${created.name} (${id}) is archived; nothing was erased. Restore it: ${commandLine(call, "rm", id, "--undo")} · erase it for good: ${commandLine(call, "rm", id, "--purge")}`,
  );
  return EXIT.done;
}
