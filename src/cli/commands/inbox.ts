import type { Situation } from "../../projections/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { type InboxItem, inboxOf, needsPerson } from "../../runtime/human/inbox.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Look, lookAt, noHomeYet } from "../home/look.ts";
import { give } from "../home/reach-home.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { age, count } from "../wording/format.ts";
import { questionText } from "../wording/question-text.ts";
import { raisingWords } from "../wording/resume-needs.ts";
import { plain, plainLines, wrapIndented } from "../wording/width.ts";

export interface InboxOptions {
  /** The messages too, in full. */
  unread?: boolean;
  markRead?: boolean;
}

/**
 * Lists what waits for the person, over all agents, each with the command that answers it. Messages are only
 * counted, unless asked for.
 */
export async function inbox(call: Invocation, options: InboxOptions = {}): Promise<ExitCode> {
  const { terminal, json } = call;
  const look = await lookAt(call).catch(noHomeYet);
  const situations = look ? await thoseThatWait(look) : [];
  const items = inboxOf(situations);
  const command = (item: InboxItem) => commandFor(call, item) + needsOf(item, situations);
  if (options.markRead) return markRead(call, look?.settings, items);
  const waiting = items.filter((item) => options.unread || needsPerson(item));
  const unread = items.length - items.filter(needsPerson).length;
  if (json) for (const item of waiting) await terminal.printJson({ ...item, command: command(item) });
  else if (waiting.length === 0) terminal.say("Nothing waits for you.");
  else await terminal.printLines(waiting.flatMap((item) => linesFor(call, item, command(item))));
  if (unread > 0) terminal.say(unreadWords(call, unread, options));
  return EXIT.done;
}

/** Only agents whose summary says that something waits, or does not know it, are folded. */
async function thoseThatWait(look: Look): Promise<Situation[]> {
  const { agents } = await look.agents();
  const waiting: Situation[] = [];
  for (const { summary, situation } of agents) {
    const { loading, archived, open_questions, unread, needs_decision } = summary;
    if (!loading && (archived || (open_questions + unread === 0 && !needs_decision))) continue;
    // One that cannot be read is told of by `ls`.
    const now = await situation().catch(() => undefined);
    if (now?.agent.archived_ts === null) waiting.push(now);
  }
  return waiting;
}

function unreadWords(call: Invocation, unread: number, options: InboxOptions): string {
  const show = options.unread ? [] : [`show: ${commandLine(call, "inbox", "--unread")}`];
  const mark = `mark read: ${markCommand(call)}`;
  return [count(unread, "unread message"), ...show, mark].join(" · ");
}

/** They are facts, so the process that works on an agent records them; where nobody does, it is done here. */
async function markRead(call: Invocation, settings: Settings | undefined, items: InboxItem[]): Promise<ExitCode> {
  // That a task of a mesh failed is a message too: a person who knows it need do nothing more.
  const messages = items.filter((item) => !needsPerson(item) || item.mesh_task || item.mesh_session || item.deadlock);
  const whose = [...new Set(messages.map(({ agent }) => agent.id))];
  if (settings) for (const id of whose) await give(settings, { do: "seen", id });
  if (call.json) await call.terminal.printJson({ marked_read: messages.length });
  else
    call.terminal.say(messages.length === 0 ? "No message is unread." : `${count(messages.length, "message")} read.`);
  return EXIT.done;
}

function linesFor(call: Invocation, item: InboxItem, command: string): string[] {
  const { paint } = call.terminal;
  const since = age(Date.now() / 1000 - item.since_ts);
  return [
    `${markOf(call, item)} ${paint.bold(plain(item.agent.name))} · ${plain(whoOf(item))} ${paint.dim(`· ${item.id} · ${since} ago`)}`,
    ...wordsOf(item).flatMap((line) => wrapIndented(`  ${line}`, call.terminal.columns)),
    paint.dim(`  ${command}`),
    ...(item.mesh_trust ? [paint.dim(`  in ${plain(item.mesh_trust.project)}`)] : []),
    ...(item.mesh_session ? [paint.dim(`  in ${plain(item.mesh_session.project)}`)] : []),
    ...(item.mesh_task ? [paint.dim(`  in ${plain(item.mesh_task.project)}; seen: ${markCommand(call)}`)] : []),
  ];
}

function markOf({ terminal: { paint } }: Invocation, { kind }: InboxItem): string {
  if (kind === "message") return paint.cyan("»");
  return kind === "failure" ? paint.red("✗") : paint.yellow("?");
}

function whoOf({ kind, from, permission, mesh_trust, mesh_session, deadlock }: InboxItem): string {
  if (mesh_session) return from.name;
  if (deadlock) return "nobody can continue";
  if (mesh_trust) return `${from.name} asks whether you trust the mesh ${mesh_trust.mesh}`;
  if (permission) return `${from.name} asks for permission`;
  return kind === "failure" ? "failed" : kind === "approval" ? "needs your approval" : from.name;
}

function wordsOf({ kind, text, choices, deadline_ts, default: fallback }: InboxItem): string[] {
  if (kind !== "question") return plainLines(text).filter((line) => line.trim() !== "");
  return questionText({
    text,
    choices: [...choices],
    ...(deadline_ts !== null && { deadline_ts }),
    ...(fallback !== null && { default: fallback }),
  });
}

function markCommand(call: Invocation): string {
  return commandLine(call, "inbox", "--mark-read");
}

/** What the same command would fail without. */
function needsOf({ kind, agent, mesh_task }: InboxItem, situations: readonly Situation[]): string {
  const now = situations.find((each) => each.agent.id === agent.id);
  return kind === "failure" && !mesh_task && now ? raisingWords(now) : "";
}

function commandFor(
  call: Invocation,
  { kind, id, agent, from, mesh_task: task, mesh_session, mesh_trust, deadlock }: InboxItem,
): string {
  if (deadlock) return commandLine(call, "send", agent.id, "your words", "--to", from.id);
  if (mesh_session) return `tx attach ${mesh_session.mesh} ${mesh_session.agent}`;
  if (mesh_trust) return `tx trust ${mesh_trust.mesh}`;
  if (task) return `tx send ${task.agent === null ? task.mesh : `${task.mesh}/${task.agent}`} "the task, again"`;
  switch (kind) {
    case "question":
      return commandLine(call, "answer", agent.id, "your answer", "--question", id);
    case "message":
      return commandLine(call, "send", agent.id, "your words", "--to", from.id);
    default:
      return commandLine(call, "resume", agent.id);
  }
}
