import type { AgentSummaryData, Standing } from "../../projections/index.ts";
import type { ListedAgent } from "../../runtime/views/agent-list.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { lookAt, noHomeYet, settingsOf } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { agentSummary, listedSummary } from "../wording/agent-summary.ts";
import { age, costOf, count, money } from "../wording/format.ts";
import { listedWords, standingOf, standingWords } from "../wording/standing.ts";
import { paintOf } from "../wording/status-paint.ts";
import { type Cell, table, tableWidth } from "../wording/table.ts";
import { headline, plain } from "../wording/width.ts";

export async function ls(call: Invocation, { all = false }: { all?: boolean } = {}): Promise<ExitCode> {
  const { terminal, json } = call;
  const look = await lookAt(call).catch(noHomeYet);
  if (!look)
    return nothingYet(
      call,
      `there is no home at ${(await settingsOf(call, { isOnlyLooking: true, isTold: false })).home}`,
    );
  const { agents, unreadable } = await look.agents(LS_BYTES);
  for (const { id, why } of unreadable)
    terminal.say(`${terminal.errPaint.yellow("!")} ${id} cannot be read: ${plain(why)}`);
  const listed = agents.filter(({ summary }) => all || !summary.archived);
  const at = Date.now() / 1000;
  const rows = await Promise.all(
    listed.map((each) => rowOf(each, standingOf({ agent: each.summary }, look.holder), at)),
  );
  if (json) {
    for (const { summary, fields } of rows)
      await terminal.printJson({ ...fields, ...(summary.loading && { loading: true }) });
    return EXIT.done;
  }
  if (rows.length === 0) return nothingYet(call, `there are none in ${look.settings.home}`);
  const { paint } = terminal;
  const head = ["NAME", "ID", "STATUS", "AGE", "COST", "GOAL"].map((text): Cell => ({ text, paint: paint.dim }));
  const cells = rows.map(({ summary, fields: { status }, words }): Cell[] => [
    { text: summary.name, paint: paint.bold },
    { text: summary.id },
    { text: words, paint: paintOf(status, summary.trouble !== null, paint) },
    { text: age(at - summary.created_ts) },
    { text: summary.loading ? costSoFar(summary) : costOf(summary) },
    { text: headline(summary.goal) },
  ]);
  await terminal.printLines(table(fitting([head, ...cells], terminal.lineColumns), terminal.lineColumns));
  tellUnread(call, rows.filter(({ summary }) => summary.loading).length);
  return EXIT.done;
}

/** In a narrow window the id goes first: the name does in its place, and how an agent is doing must be seen. */
function fitting(rows: Cell[][], columns: number): Cell[][] {
  const isNarrow = tableWidth(rows.map((row) => row.slice(0, STATUS + 1))) > columns;
  return isNarrow ? rows.map((row) => row.filter((_, at) => at !== ID)) : rows;
}

const ID = 1;
const STATUS = 2;

/** How much a list reads of logs without a kept summary: half a second on an idle machine. */
const LS_BYTES = 16 * 1024 * 1024;

interface Row {
  summary: AgentSummaryData;
  fields: ReturnType<typeof agentSummary>;
  words: string;
}

/** Until when it sleeps, and all troubles of a team that has several, only the situation tells. */
async function rowOf({ summary, situation }: ListedAgent, status: Standing, at: number): Promise<Row> {
  const isShort = summary.asleep || (summary.trouble?.workers ?? 0) > 1;
  if (!isShort || summary.loading)
    return { summary, fields: listedSummary(summary, status), words: listedWords(status, summary) };
  const now = await situation();
  return { summary, fields: agentSummary(now, status), words: standingWords(status, now, at) };
}

/** As far as it is known without reading the log. */
function costSoFar({ cost_usd }: AgentSummaryData): string {
  return cost_usd > 0 ? `~${money(cost_usd)}` : "?";
}

function tellUnread(call: Invocation, unread: number): void {
  if (unread === 0) return;
  const { terminal } = call;
  terminal.say(
    `${terminal.errPaint.yellow("!")} The long records of ${count(unread, "agent")} were not read for this list, so their status and cost may be out of date. ` +
      `Read one: ${commandLine(call, "show")} NAME · read all and keep the result: ${commandLine(call, "serve")}`,
  );
}

/** Says where it looked: who mistyped a home should not believe that their agents are gone. */
function nothingYet(call: Invocation, why: string): ExitCode {
  call.terminal.say(`No agents yet: ${why}. Begin with: ${commandLine(call, "run")} "your goal"`);
  return EXIT.done;
}
