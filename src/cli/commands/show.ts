import { type Situation, type Standing, shownGoalOf, triggerRecords } from "../../projections/index.ts";
import { runDir } from "../../store/paths.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Look, lookAtAgent } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { agentSummary } from "../wording/agent-summary.ts";
import { boardTable } from "../wording/board-table.ts";
import { branchWords } from "../wording/branch-words.ts";
import { amount, costOf, count, money, timestamp } from "../wording/format.ts";
import { waitingLines } from "../wording/question-text.ts";
import { fileLine, resultFiles } from "../wording/result.ts";
import { raisingWords } from "../wording/resume-needs.ts";
import { standingOf, standingWords } from "../wording/standing.ts";
import { standingPaint } from "../wording/status-paint.ts";
import { troubleLines } from "../wording/trouble-lines.ts";
import { undoneWords } from "../wording/undone.ts";
import { plain, plainLines, wrap, wrapBeside, wrapIndented, wrapMessage } from "../wording/width.ts";
import { workersTable } from "./workers.ts";

export async function show(call: Invocation, word: string): Promise<ExitCode> {
  const { terminal, json } = call;
  const { now, log, holder, store } = await lookAtAgent(call, word);
  const { columns } = terminal;
  const status = standingOf(now, holder);
  const { results, others } = await resultFiles(now, log.dir);
  if (json) {
    const { board, roster, spending, questions, triggers, agent, repository } = now;
    await terminal.printJson({
      ...agentSummary(now, status),
      dir: log.dir,
      results,
      files: [...results, ...others].map(({ path }) => path),
      changed_files: [...results, ...others].flatMap(({ path, changed }) => (changed ? [path] : [])),
      board,
      roster,
      questions: Object.values(questions.open),
      triggers: triggerRecords(triggers, agent.id),
      spending,
      ...(repository && { repository }),
      repairs: store.repairs,
    });
    return EXIT.done;
  }
  await terminal.printLines([
    ...headLines(call, now, status, log.dir),
    ...triggerLine(call, now),
    ...unsentLine(call, now),
    ...section(call, status === "completed" ? "Results" : "Results so far", results.map(fileLine)),
    ...section(call, "Review", reviewLines(call, now)),
    ...section(
      call,
      "Needs you",
      waitingLines(call, now).flatMap((line) => wrapIndented(line, columns)),
    ),
    ...section(call, "In trouble", troubleLines(now)),
    ...teamLines(call, now, status),
    ...endLines(call, now, status),
    ...section(call, "Other files", others.map(fileLine)),
    ...section(call, "Repairs", repairWords(store.repairs)),
  ]);
  return EXIT.done;
}

function headLines(
  { terminal: { paint, columns } }: Invocation,
  now: Situation,
  status: Standing,
  dir: string,
): string[] {
  const { repository } = now;
  const { id, created, created_ts, run, runs } = now.agent;
  const { total } = now.spending;
  const tokens = `${amount(total.usage.input)} tokens in (${amount(total.usage.cache_read)} cached), ${amount(total.usage.output)} out`;
  const budget = created.budget_usd === null ? "" : ` of ${money(created.budget_usd)}`;
  const failures = total.failures > 0 ? `, ${count(total.failures, "failed attempt")}` : "";
  const rows: [string, string][] = [
    ["Goal", plain(shownGoalOf(now.agent))],
    ["Status", standingPaint(status, now, paint)(standingWords(status, now, Date.now() / 1000))],
    [
      "Model",
      created.model === created.worker_model ? created.model : `${created.model}, workers ${created.worker_model}`,
    ],
    ["Created", timestamp(created_ts)],
    ["Run", run ? `${run.id} of ${runs}, ${created.mode}` : "none yet"],
    ["Spent", `${costOf(total)}${budget}: ${count(total.calls, "model call")}${failures}, ${tokens}`],
    ["Project", created.project ?? "none"],
    ...(repository ? ([["Branch", branchWords(repository)]] satisfies [string, string][]) : []),
    ["Folder", run ? runDir(dir, run.id) : dir],
  ];
  return [
    `${paint.bold(created.name)}  ${paint.dim(id)}`,
    ...rows.flatMap(([label, text]) => wrapBeside(`${paint.dim(label.padEnd(8))} `, LABEL, text, columns)),
  ];
}

/** The width of a label and the space after it. */
const LABEL = 9;

function triggerLine(call: Invocation, { agent, triggers }: Situation): string[] {
  const number = Object.keys(triggers.open).length;
  const look = commandLine(call, "triggers", agent.id);
  return number === 0 ? [] : [`${call.terminal.paint.dim("Triggers")} ${number} set: ${look}`];
}

/** A channel that is down is retried for a day; there is no failure fact until then. */
function unsentLine({ terminal: { paint } }: Invocation, { outbox: { waiting } }: Situation): string[] {
  const byChannel = new Map<string, number>();
  for (const channel of waiting.flatMap(({ channels }) => channels))
    byChannel.set(channel, (byChannel.get(channel) ?? 0) + 1);
  const words = [...byChannel].map(([channel, number]) => `${number} by ${channel}`).join(", ");
  return words === "" ? [] : [`${paint.dim("Unsent  ")} ${words}; tried again while a process works in this home`];
}

function teamLines(call: Invocation, now: Situation, status: Standing): string[] {
  const { lineColumns: columns, paint } = call.terminal;
  const nodes = Object.values(now.board.nodes);
  const done = nodes.filter((node) => node.status === "completed").length;
  const undone = undoneWords(now);
  const title = `Board: ${done} of ${count(nodes.length, "node")} completed${undone && `; ${undone}`}`;
  return [
    ...section(call, title, nodes.length > 0 ? boardTable(now, status, columns, paint) : []),
    ...section(call, "Workers", Object.keys(now.roster).length > 0 ? workersTable(now, status, columns, paint) : []),
  ];
}

function endLines(call: Invocation, now: Situation, status: Standing): string[] {
  const { id, summary, error } = now.agent;
  if (status === "completed")
    return section(
      call,
      "Summary",
      plainLines(summary ?? "").flatMap((line) => wrap(line, call.terminal.columns)),
    );
  const goOn = `Continue with: ${commandLine(call, "resume", id)}`;
  if (status === "failed")
    return section(call, "Failed", [
      ...plainLines(error ?? "").flatMap((line) => wrapMessage(line, call.terminal.columns)),
      goOn + raisingWords(now),
    ]);
  if (status === "interrupted") return section(call, "Interrupted", ["Its process ended unexpectedly.", goOn]);
  if (status === "paused") return section(call, "Paused", [goOn]);
  return status === "stopped" ? section(call, "Stopped", [goOn]) : [];
}

/** What can be done with the branch now. */
function reviewLines(call: Invocation, { agent: { id }, repository }: Situation): string[] {
  if (!repository || repository.tip === repository.base) return [];
  const isTaken = repository.deliveries.some(({ commit }) => commit === repository.tip);
  const take = isTaken ? [] : [`Take it: ${commandLine(call, "accept", id)}`];
  return [`Look at it: ${commandLine(call, "diff", id)}`, ...take];
}

function section({ terminal: { paint } }: Invocation, title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", paint.bold(title), ...lines];
}

function repairWords(repairs: Look["store"]["repairs"]): string[] {
  return repairs.map(({ file, what, aside }) =>
    plain(`${file}: ${what}${aside === null ? "" : ` (kept in ${aside})`}`),
  );
}
