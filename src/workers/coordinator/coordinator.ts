import { Mailbox } from "../../mail/mailbox.ts";
import { isOpenedForNode } from "../../projections/index.ts";
import { COORDINATOR, type Outcome, type RunId } from "../../protocol/index.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import type { Scope } from "../../store/scope/scope.ts";
import { coordinatorScope } from "../../store/scope/team-scopes.ts";
import type { MailPort } from "../../tools/mail.ts";
import { closeTools } from "../../tools/tool.ts";
import { openHumanLine } from "../loop/human-line.ts";
import { pastOf } from "../loop/past.ts";
import { runRecordedLoop } from "../loop/recorded-loop.ts";
import { restateForCoordinator } from "../loop/restate.ts";
import { withShortPast } from "../loop/trimming.ts";
import { waitForMail } from "../loop/waiting.ts";
import type { Workplace } from "../workplace.ts";
import { isInfinite } from "./cycles.ts";
import { leadToolbox, leadTools, reflectionOn, type TeamPort } from "./lead-tools.ts";
import { LongSleep } from "./long-sleep.ts";
import { awaited, waitOrEnd } from "./reply-without-call.ts";
import { beginRun, CONVERSATION, LEAD, pastHistory, surroundings, withoutGivingUp } from "./run-start.ts";
import { Waking } from "./waking.ts";

/** The coordinator: the same loop as a worker's, with more tools, and another meaning of a reply without a call. */
export async function coordinate(
  run: { id: RunId; goal: string },
  team: TeamPort,
  workplace: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log, now } = workplace;
  const { project, model: modelId } = now().agent.created;
  const published = manifestsOf(() => now().board);
  const scope = coordinatorScope({ agentDir: log.dir, runId: run.id, project, published });
  const model = await workplace.model(modelId);

  const stored = await log.conversation(CONVERSATION);
  const begun = pastOf(stored, "beginning", (entry) => entry.role === "user" && entry.run_id === run.id);
  // What was said since the run began is its first news.
  const cursor = begun?.cursor ?? now().agent.run?.started_seq ?? now().seq;
  const mailbox = await Mailbox.open(log, COORDINATOR, cursor, now);
  mailbox.aside = () => team.begun(COORDINATOR);
  const waking = new Waking(LEAD, mailbox, workplace, stored);
  const reflection = reflectionOn(run.id, begun, workplace);
  const mail = mailPort(mailbox, team, workplace);
  const baseTools = workplace.tools(scope, LEAD, model, workplace);
  const human = openHumanLine(LEAD, workplace, mailbox);
  const sleep = new LongSleep(workplace, (until) => waking.sleep(until));
  const ports = { baseTools, mail, human, endCycle: (until: AbortSignal) => sleep.until(until) };
  const repeats = {
    othersWork: () => team.unfinished() !== null,
    news: (until: AbortSignal) => mail.arrived(until, false),
    cycle: () => waking.cycle,
  };
  const toolbox = (await leadToolbox(workplace, repeats))(leadTools(run, team, ports, reflection, workplace));
  const past = begun ?? (await beginRun({ run, scope, toolbox, cursor, workplace, before: pastHistory(stored) }));
  await waking.begin(begun ? "resumed" : "begins", past.history);
  try {
    // There is nothing to decide before that node has ended, or somebody speaks.
    const { run: open } = now().agent;
    if (open && isOpenedForNode(open) && past.turn === 1) await mail.arrived(signal, true);
    const assignment = {
      ...past,
      history: withShortPast(past.history.map(withoutGivingUp), run.id, past.system),
      // A run that is resumed gets the full number of turns again.
      maxTurns: past.turn - 1 + workplace.maxTurns,
      lastTurn: (turn: number) => waking.lastTurn(turn),
      compactable: compactable(run, scope, { mailbox, waking, sleep, workplace }),
      onReplyWithoutCall: waitOrEnd({ run: run.id, team, mailbox, waking, sleep, workplace }),
    };
    const hearing = { mail: () => waking.told(mailbox.take()), isUrgent: () => mailbox.isUrgent };
    return await runRecordedLoop(assignment, { model, toolbox, ...hearing }, LEAD, workplace, signal);
  } finally {
    await closeTools(baseTools);
    human.close();
    waking.close();
    mailbox.close();
  }
}

interface Compacted {
  mailbox: Mailbox;
  waking: Waking;
  sleep: LongSleep;
  workplace: Workplace;
}

/** How its conversation is made shorter, and what it is told instead. */
function compactable(run: { id: RunId; goal: string }, scope: Scope, parts: Compacted) {
  const { mailbox, waking, sleep, workplace } = parts;
  return {
    flushWords: () => workplace.prompts("memory-flush"),
    async restate() {
      await waking.restated();
      const around = await surroundings(workplace, "loop");
      return restateForCoordinator(run, scope, workplace.now(), mailbox.untoldFrom, around);
    },
    ...(isInfinite(workplace) && { window: MOST_IN_CYCLES, wokeLate: () => sleep.takeLate() }),
  };
}

/** Whatever it does in a cycle, an infinite agent is shown no more than this, however large its model's window is. */
const MOST_IN_CYCLES = 64_000;

function mailPort(mailbox: Mailbox, team: TeamPort, workplace: Workplace): Pick<MailPort, "waiting" | "arrived"> {
  return {
    waiting: () => mailbox.waiting,
    async arrived(until, all) {
      // The end of a command in the background is news too, for a coordinator that asks to be woken by it.
      const reason = awaited(team, workplace) ?? (team.running() === null ? null : "news");
      const hasAll = () => mailbox.hasMoreThanResults || team.unfinished() === null;
      const isEnough = all && team.unfinished() !== null ? hasAll : undefined;
      if (reason !== null) await waitForMail({ self: LEAD, mailbox, workplace }, reason, until, isEnough);
    },
  };
}
