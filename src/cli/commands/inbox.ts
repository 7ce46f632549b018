import { type InboxItem, inboxOf } from "../../runtime/inbox.ts";
import { allSituations } from "../../runtime/inspect.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { age } from "../format.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { lookAt, noHomeYet } from "../look.ts";
import { questionText } from "../question-text.ts";
import { plain, plainLines } from "../width.ts";

/** What waits for the person, over all agents, with the command that answers each. */
export async function inbox(call: Invocation): Promise<ExitCode> {
  const { terminal, json } = call;
  const look = await lookAt(call).catch(noHomeYet);
  const { situations } = look ? await allSituations(look.store) : { situations: [] };
  const items = inboxOf(situations.filter(({ agent }) => agent.archived_ts === null));
  if (json) for (const item of items) await terminal.printJson({ ...item, command: commandFor(call, item) });
  else if (items.length === 0) terminal.say("Nothing waits for you.");
  else await terminal.printLines(items.flatMap((item) => linesFor(call, item)));
  return EXIT.done;
}

function linesFor(call: Invocation, item: InboxItem): string[] {
  const { paint } = call.terminal;
  const since = age(Date.now() / 1000 - item.since_ts);
  const mark = item.kind === "question" ? paint.yellow("?") : paint.cyan("»");
  const { deadline_ts, default: fallback, choices, text } = item;
  const words =
    item.kind === "question"
      ? questionText({
          text,
          choices: [...choices],
          ...(deadline_ts !== null && { deadline_ts }),
          ...(fallback !== null && { default: fallback }),
        })
      : plainLines(text).filter((line) => line.trim() !== "");
  return [
    `${mark} ${paint.bold(plain(item.agent.name))} · ${plain(item.from.name)} ${paint.dim(`· ${item.id} · ${since} ago`)}`,
    ...words.map((line) => `  ${line}`),
    paint.dim(`  ${commandFor(call, item)}`),
  ];
}

function commandFor(call: Invocation, { kind, id, agent, from }: InboxItem): string {
  return kind === "question"
    ? commandLine(call, "answer", agent.id, "your answer", "--question", id)
    : commandLine(call, "send", agent.id, "your words", "--to", from.id);
}
