import { createInterface } from "node:readline/promises";
import type { AgentId } from "../../protocol/index.ts";
import { eraseAgent, sizeOf } from "../../store/home/erase-agent.ts";
import { agentDir } from "../../store/paths.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { lookAtNamed } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { isAttended } from "../live/interactive.ts";
import { bytes, count } from "../wording/format.ts";

/** Erases an agent permanently, after the person has confirmed. Works only while no process uses its home. */
export async function purge(call: Invocation, word: string, isSure: boolean): Promise<ExitCode> {
  const { terminal, json } = call;
  const { settings, now, holder } = await lookAtNamed(call, word, "erase that one");
  const { id, created } = now.agent;
  const name = `${created.name} (${id})`;
  if (holder)
    throw new Refusal(
      `${name} was not erased: pid ${holder.pid}${holder.command ? ` (${holder.command})` : ""} works in the home ${settings.home}. Stop it first (Ctrl-C in its terminal, or kill ${holder.pid}), then try again.`,
    );
  if (!isSure) await askWhether(call, id, created.name, settings.home);
  const erased = await eraseAgent(settings.home, id, { now: Date.now });
  if (json) await terminal.printJson({ id, name: created.name, erased: true, ...erased });
  terminal.say(`Erased for good: ${name}, ${count(erased.files, "file")}, ${bytes(erased.bytes)}.`);
  return EXIT.done;
}

async function askWhether(call: Invocation, id: AgentId, name: string, home: string): Promise<void> {
  const { terminal } = call;
  if (!isAttended(call))
    throw new UsageError(
      `Nothing was erased: nobody is at the terminal to confirm it. Add --yes: ${commandLine(call, "rm", id, "--purge", "--yes")}`,
    );
  const there = await sizeOf(agentDir(home, id));
  terminal.say(
    `This erases ${name} (${id}) for good: ${count(there.files, "file")}, ${bytes(there.bytes)}, its results, record and memory. It cannot be undone.`,
  );
  const line = createInterface({ input: terminal.stdin, output: process.stderr });
  const typed = await line.question(`Type its name to continue (${name}): `).finally(() => line.close());
  if (typed.trim() !== name) throw new Refusal(`Nothing was erased: what you typed is not the name ${name}.`);
}
