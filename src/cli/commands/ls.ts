import { goalOf } from "../../projections/index.ts";
import { allSituations } from "../../runtime/inspect.ts";
import { agentSummary } from "../agent-summary.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { age, costOf } from "../format.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { lookAt, noHomeYet, settingsOf, standingOf, standingWords } from "../look.ts";
import { standingPaint } from "../standing-paint.ts";
import { type Cell, table } from "../table.ts";
import { headline, plain } from "../width.ts";

export async function ls(call: Invocation, { all = false }: { all?: boolean } = {}): Promise<ExitCode> {
  const { terminal, json } = call;
  const look = await lookAt(call).catch(noHomeYet);
  if (!look)
    return nothingYet(
      call,
      `there is no home at ${(await settingsOf(call, { isOnlyLooking: true, isTold: false })).home}`,
    );
  const { situations: every, unreadable } = await allSituations(look.store);
  const situations = every.filter(({ agent }) => all || agent.archived_ts === null);
  for (const { id, why } of unreadable)
    terminal.say(`${terminal.errPaint.yellow("!")} ${id} cannot be read: ${plain(why)}`);
  const standings = situations.map((now) => ({ now, status: standingOf(now, look.holder) }));
  if (json) {
    for (const { now, status } of standings) await terminal.printJson(agentSummary(now, status));
    return EXIT.done;
  }
  if (standings.length === 0) return nothingYet(call, `nobody lives in ${look.settings.home}`);
  const { paint } = terminal;
  const head = ["NAME", "ID", "STATUS", "AGE", "COST", "GOAL"].map((text) => ({ text, paint: paint.dim }));
  const at = Date.now() / 1000;
  const rows = standings.map(({ now, now: { agent }, status }): Cell[] => [
    { text: agent.created.name, paint: paint.bold },
    { text: agent.id },
    { text: standingWords(status, now, at), paint: standingPaint(status, now, paint) },
    { text: age(at - agent.created_ts) },
    { text: costOf(now.spending.total) },
    { text: headline(goalOf(agent)) },
  ]);
  await terminal.printLines(table([head, ...rows], terminal.lineColumns));
  return EXIT.done;
}

/** Says where it looked: who mistyped a home should not believe that their agents are gone. */
function nothingYet(call: Invocation, why: string): ExitCode {
  call.terminal.say(`No agents yet: ${why}. Begin with: ${commandLine(call, "run")} "your goal"`);
  return EXIT.done;
}
