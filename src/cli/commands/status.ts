import type { HomeHolder } from "../../store/home/home.ts";
import { versionOf } from "../base-command.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { liveHolder } from "../home/live-holder.ts";
import { lookAt, noHomeYet, settingsOf } from "../home/look.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { count, timestamp } from "../wording/format.ts";
import { standingOf } from "../wording/standing.ts";

/** The home at a glance: which process works in it, how its agents are doing, what waits for the person. */
export async function status(call: Invocation): Promise<ExitCode> {
  const { terminal, json } = call;
  const look = await lookAt(call).catch(noHomeYet);
  const { home } = look?.settings ?? (await settingsOf(call, { isOnlyLooking: true, isTold: false }));
  const holder = look && liveHolder(home);
  const { agents } = look ? await look.agents() : { agents: [] };
  const shown = agents.filter(({ summary }) => !summary.archived);
  const by_status: Record<string, number> = {};
  for (const { summary } of shown) {
    const standing = standingOf({ agent: summary }, holder);
    by_status[standing] = (by_status[standing] ?? 0) + 1;
  }
  const waiting = shown.reduce(
    (sum, { summary }) => sum + summary.open_questions + (summary.needs_decision ? 1 : 0),
    0,
  );
  const version = versionOf(call.packageRoot);
  if (json) {
    const { pid, started_ts, command, url } = holder ?? {};
    const process = holder ? { pid, started_ts, command: command ?? null, url: url ?? null } : null;
    await terminal.printJson({ version, home, process, agents: { total: shown.length, by_status }, waiting });
    return EXIT.done;
  }
  const kinds = Object.entries(by_status).map(([standing, many]) => `${many} ${WORDS[standing] ?? standing}`);
  await terminal.printLines([
    `agiraph ${version}`,
    `Home     ${home}`,
    `Process  ${holder ? holderWords(holder) : "none: no process is using this home"}`,
    `Agents   ${shown.length === 0 ? `none yet. Begin with: ${commandLine(call, "run")} "your goal"` : kinds.join(", ")}`,
    `For you  ${waiting === 0 ? "nothing" : `${count(waiting, "thing")}: ${commandLine(call, "inbox")}`}`,
  ]);
  return EXIT.done;
}

const WORDS: Readonly<Record<string, string>> = { waiting_for_human: "waiting for you", idle: "not started" };

function holderWords({ pid, command, started_ts, url }: HomeHolder): string {
  const at = url === undefined ? "" : ` at ${url}`;
  return `${command ?? "agiraph"} (pid ${pid})${at}, since ${timestamp(started_ts)}`;
}
