import { EXIT, type ExitCode } from "../exit-code.ts";
import { lookAtAgent } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import { commandLine } from "../invocation.ts";
import { displayName } from "../wording/names.ts";
import { plain } from "../wording/width.ts";
import { revoke } from "./speak.ts";

/** Lists what a person always allows the programs of an agent, and revokes it. */
export async function permissions(call: Invocation, word: string, options: { revoke?: string }): Promise<ExitCode> {
  if (options.revoke !== undefined) return revoke(call, word, options.revoke);
  const { terminal, json } = call;
  const { now } = await lookAtAgent(call, word);
  const all = Object.entries(now.outside.permitted).flatMap(([worker_id, list]) =>
    list.map((permission) => ({ worker_id, ...permission })),
  );
  if (json) for (const permission of all) await terminal.printJson(permission);
  else if (all.length === 0)
    terminal.say("Nothing is always allowed: its programs ask each time, or their profile decides.");
  else
    await terminal.printLines([
      ...all.map(
        ({ key, worker_id, what }) => `${key.slice(0, 8)}  ${displayName(now.roster, worker_id)}: ${plain(what)}`,
      ),
      terminal.paint.dim(`Take one back: ${commandLine(call, "permissions", now.agent.id, "--revoke", "ID")}`),
    ]);
  return EXIT.done;
}
