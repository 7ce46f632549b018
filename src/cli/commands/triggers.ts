import { problemsIn } from "../../boundary/unknown-field.ts";
import { type Situation, triggerRecords } from "../../projections/index.ts";
import { type CommandToAgent, createTriggerSchema } from "../../protocol/commands.ts";
import { nextDue } from "../../triggers/due.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { type Look, lookAtAgent } from "../home/look.ts";
import { give } from "../home/reach-home.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { triggerTable } from "../wording/trigger-table.ts";
import { plain } from "../wording/width.ts";

export interface TriggersOptions {
  all?: boolean;
  add?: string;
  cancel?: string;
  pause?: string;
  resume?: string;
}

/** Lists or changes what an agent is to do later. */
export async function triggers(call: Invocation, word: string, options: TriggersOptions): Promise<ExitCode> {
  const change = changeIn(options);
  const look = await lookAtAgent(call, word);
  return change ? makeChange(call, look, change) : list(call, look, options);
}

async function list(call: Invocation, { now, holder }: Listed, { all }: TriggersOptions): Promise<ExitCode> {
  const { terminal, json } = call;
  const at = Date.now() / 1000;
  const shown = [...Object.values(now.triggers.open), ...(all ? now.triggers.settled : [])];
  if (json) {
    const records = new Map(triggerRecords(now.triggers, now.agent.id).map((record) => [record.id, record]));
    for (const trigger of shown)
      await terminal.printJson({ ...records.get(trigger.id), due: nextDue(trigger, now, at) });
    return EXIT.done;
  }
  if (shown.length === 0) {
    const ended = now.triggers.settled.length;
    const more = ended > 0 ? ` ${ended} ended: ${commandLine(call, "triggers", now.agent.id, "--all")}` : "";
    terminal.say(`${now.agent.created.name} has no triggers.${more}`);
    return EXIT.done;
  }
  await terminal.printLines(triggerTable(shown, now, at, terminal.columns, terminal.paint));
  const hint = whyNone(call, now, holder);
  if (hint) terminal.say(terminal.errPaint.dim(hint));
  return EXIT.done;
}

type Listed = Pick<Look, "holder"> & { now: Situation };

/** Nothing fires by itself. */
function whyNone(
  call: Invocation,
  { agent, triggers: { open } }: Situation,
  holder: Look["holder"],
): string | undefined {
  const resume = commandLine(call, "resume", agent.id);
  if (!Object.values(open).some(({ status }) => status === "active")) return undefined;
  if (agent.status === "paused" || agent.status === "stopped")
    return `${agent.created.name} is ${agent.status}: nothing fires until it continues. ${resume}`;
  return holder ? undefined : `They fire only while a process works on it, and none does now. ${resume}`;
}

type TriggerCommand = CommandToAgent<"create_trigger" | "cancel_trigger" | "pause_trigger" | "resume_trigger">;

function changeIn({ add, cancel, pause, resume }: TriggersOptions): TriggerCommand | undefined {
  const changes: TriggerCommand[] = [
    ...(add === undefined ? [] : [{ do: "create_trigger" as const, ...orderIn(add) }]),
    ...(cancel === undefined ? [] : [{ do: "cancel_trigger" as const, trigger_id: idIn(cancel) }]),
    ...(pause === undefined ? [] : [{ do: "pause_trigger" as const, trigger_id: idIn(pause) }]),
    ...(resume === undefined ? [] : [{ do: "resume_trigger" as const, trigger_id: idIn(resume) }]),
  ];
  if (changes.length > 1) throw new UsageError("Give only one of --add, --cancel, --pause and --resume at a time.");
  return changes[0];
}

/** The number alone will do. */
function idIn(word: string): string {
  return /^\d+$/.test(word) ? `trigger-${word}` : word;
}

const EXAMPLE = `{"type":"scheduled","config":{"cron":"0 9 * * MON"},"action":"Write the weekly report"}`;

function orderIn(text: string) {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--add takes JSON, such as ${EXAMPLE} (${error instanceof Error ? error.message : error})`);
  }
  const order = createTriggerSchema.safeParse(value);
  if (order.success) return order.data;
  throw new UsageError(
    `This is not a valid trigger:\n${problemsIn(order.error, createTriggerSchema).replace(/^/gm, "  ")}\nAn example: ${EXAMPLE}`,
  );
}

/** By the process that works on the agent; when nobody does, it is recorded here. */
async function makeChange(call: Invocation, look: Changed, change: TriggerCommand): Promise<ExitCode> {
  const { id, created } = look.now.agent;
  const { result } = await give<TriggerCommand["do"]>(look.settings, { ...change, id } as never);
  const { detail: message = "" } = result;
  if (call.json) await call.terminal.printJson({ id, name: created.name, message });
  else for (const line of message.split("\n")) call.terminal.say(plain(line));
  return EXIT.done;
}

type Changed = Pick<Look, "settings"> & { now: Situation };
