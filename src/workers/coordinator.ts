import { Mailbox } from "../mail/mailbox.ts";
import { deferredBy, type Situation } from "../projections/index.ts";
import {
  COORDINATOR,
  type Entry,
  HUMAN,
  type Outcome,
  type ReplyEntry,
  type RunId,
  textOf,
  type UserEntry,
} from "../protocol/index.ts";
import { conversationFile } from "../store/paths.ts";
import { manifestsOf } from "../store/run/manifests.ts";
import { namedResults } from "../store/run/results.ts";
import type { Scope } from "../store/scope/scope.ts";
import { coordinatorScope } from "../store/scope/team-scopes.ts";
import {
  type CoordinationPort,
  coordinationTools,
  type ReflectionPort,
  WHAT_DID_YOU_LEARN,
} from "../tools/coordination.ts";
import { askHumanTool, type HumanPort } from "../tools/human.ts";
import { type MailPort, mailTools } from "../tools/mail.ts";
import { scheduleTools } from "../tools/schedule.ts";
import { closeTools, hidden, type Tool } from "../tools/tool.ts";
import { Toolbox, type Tools } from "../tools/toolbox.ts";
import { type CheckpointPort, checkpointTool, createWorkNodeTool } from "../tools/work.ts";
import { momentIn } from "../triggers/wall-clock.ts";
import { textIn } from "./assignment.ts";
import { asking } from "./loop/asking.ts";
import { BEFORE_SLEEP, cycleRules } from "./loop/cycles.ts";
import { hasMuchToNote, LongSleep } from "./loop/long-sleep.ts";
import { isNoAnswer } from "./loop/missed-calls.ts";
import { type Past, pastOf } from "./loop/past.ts";
import { type Actor, runRecordedLoop } from "./loop/recorded-loop.ts";
import { PATIENT_IN_CYCLES, type RepeatPorts, withRepeatGuard } from "./loop/repeat-guard.ts";
import { restateForCoordinator } from "./loop/restate.ts";
import { isQuiet } from "./loop/shown-history.ts";
import { withShortPast } from "./loop/trimming.ts";
import { waitForMail } from "./loop/waiting.ts";
import { seenMemory, Waking } from "./loop/waking.ts";
import type { Silence } from "./loop/work-loop.ts";
import { onlyThese } from "./node-tools.ts";
import { coordinatorPrompt } from "./prompt.ts";
import { surroundingsOf } from "./surroundings.ts";
import { keepLesson, memoryNow, recalled } from "./worker-memory.ts";
import type { Colleagues, Workplace } from "./workplace.ts";

export const CONVERSATION = conversationFile("run-1", COORDINATOR); // one for all runs
export const LEAD: Actor = { worker_id: COORDINATOR, node_id: null, conversation: CONVERSATION };

/** Seed 002 §7.2, at every checkpoint. */
const REFLECT = "Reflect on what you learned: write lasting insights to memory with memory_write.";

/** What the coordinator may ask of its team. */
export interface TeamPort extends CoordinationPort, Colleagues {}

/** The agent's own mind: the same loop as a worker's, with more tools and another silence. */
export async function coordinate(
  run: { id: RunId; goal: string },
  team: TeamPort,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log, now } = place;
  const { project, model: modelId } = now().agent.created;
  const published = manifestsOf(() => now().board);
  const scope = coordinatorScope({ agentDir: log.dir, runId: run.id, project, published });
  const model = await place.model(modelId);

  const stored = await log.conversation(CONVERSATION);
  const begun = pastOf(stored, "beginning", (entry) => entry.role === "user" && entry.run_id === run.id);
  // What was said since the run began is its first news.
  const cursor = begun?.cursor ?? now().agent.run?.started_seq ?? now().seq;
  const mailbox = await Mailbox.open(log, COORDINATOR, cursor, now);
  mailbox.aside = () => team.begun(COORDINATOR);
  const waking = new Waking(LEAD, mailbox, place, stored);
  const reflection = reflectionOn(run.id, begun, place);
  const mail = {
    waiting: () => mailbox.waiting,
    async arrived(until: AbortSignal, all: boolean) {
      const reason = awaited(team, place);
      const isEnough =
        all && reason === "news" ? () => mailbox.hasMoreThanResults || team.unfinished() === null : undefined;
      if (reason !== null) await waitForMail(LEAD, reason, mailbox, place, until, isEnough);
    },
  };
  const hands = place.tools(scope, LEAD, model, place);
  const human = asking(LEAD, place, mailbox);
  const sleep = new LongSleep(place, (until) => waking.sleep(until));
  const ports = { baseTools: hands, mail, human, endCycle: (until: AbortSignal) => sleep.until(until) };
  const repeats = {
    othersWork: () => team.unfinished() !== null,
    news: (until: AbortSignal) => mail.arrived(until, false),
    cycle: () => waking.cycle,
  };
  const toolbox = (await leadToolbox(place, repeats))(leadTools(run, team, ports, reflection, place));
  const past = begun ?? (await beginRun(run, scope, toolbox, pastHistory(stored), cursor, place));
  await waking.begin(begun ? "taken up" : "begins");
  try {
    // Taken up again, it may take as many turns again.
    const job = {
      ...past,
      history: withShortPast(past.history.map(withoutGivingUp), run.id),
      maxTurns: past.turn - 1 + place.maxTurns,
      lastTurn: (turn: number) => waking.lastTurn(turn),
      compactable: {
        flushWords: () => place.prompts("memory-flush"),
        async restate() {
          await waking.restated();
          return restateForCoordinator(run, scope, now(), mailbox.untoldFrom, await surroundings(place));
        },
        ...(isInfinite(place) && { window: MOST_IN_CYCLES, wokeLate: () => sleep.takeLate() }),
      },
      onSilence: waitOrEnd(run.id, team, mailbox, waking, sleep, place),
    };
    const hearing = { mail: () => waking.told(mailbox.take()), isUrgent: () => mailbox.isUrgent };
    return await runRecordedLoop(job, { model, toolbox, ...hearing }, LEAD, place, signal);
  } finally {
    await closeTools(hands);
    human.close();
    waking.close();
    mailbox.close();
  }
}

/** Whatever it does in a cycle, an infinite agent is shown no more than this, however large its model's window is. */
const MOST_IN_CYCLES = 64_000;

/** What a summary says of the world outside the work. */
export async function surroundings(place: Workplace): Promise<{ today: string; memory: string }> {
  return { today: momentIn(place.clock.now(), place.timeZone), memory: await memoryNow(place) };
}

/** Only the goal ends a run: who gave up, and is taken up again, may try again. */
export function withoutGivingUp(entry: Entry): Entry {
  if (entry.role !== "tool" || !entry.ending || entry.ending.kind === "finished") return entry;
  const { ending: _, ...result } = entry;
  return result;
}

/** A run shorter than this taught hardly anything that is worth another call. */
const TURNS_THAT_TEACH = 20;

/** After a crash it is in the conversation that somebody was asked. */
export function reflectionOn(run: RunId, begun: Past | undefined, { pending }: Workplace): ReflectionPort {
  const calls = () => pending().spending.by_worker[COORDINATOR]?.calls ?? 0;
  const before = calls() - (begun ? begun.turn - 1 : 0);
  const isAsked = (entry: Entry) => entry.role === "tool" && entry.content.startsWith(WHAT_DID_YOU_LEARN);
  const history = begun?.history ?? [];
  const start = history.findLastIndex((entry) => entry.role === "user" && entry.run_id === run);
  let asked = history.slice(Math.max(start, 0)).some(isAsked);
  return {
    asksBeforeEnd() {
      if (asked || calls() - before < TURNS_THAT_TEACH) return false;
      asked = true;
      return true;
    },
  };
}

/** How the coordinator at hand uses what differs between a model in our loop and a program. */
export interface LeadPorts {
  /** Files, shell, web and memory. */
  baseTools: readonly Tool[];
  mail: Pick<MailPort, "waiting" | "arrived">;
  human: HumanPort;
  /** The cycle of an infinite agent is over. */
  endCycle(signal: AbortSignal): Promise<string>;
}

export function leadTools(
  run: { id: RunId; goal: string },
  team: TeamPort,
  { baseTools: hands, mail, human, endCycle }: LeadPorts,
  reflection: ReflectionPort,
  place: Workplace,
): Tool[] {
  const checkpoint: CheckpointPort["checkpoint"] = async (summary, call, signal, learned) => {
    // Before the fact: whoever is asked again after a crash has both, once.
    const notice = learned?.trim() ? await keepLesson(run, learned, place) : "";
    const data = { worker_id: COORDINATOR, node_id: null, summary, ...(call && { call_id: call.id }) };
    // Asked again after a crash, it was recorded.
    if (!call || place.pending().agent.checkpoint !== call.id)
      await place.log.append({ facts: [{ type: "worker.checkpointed", data }] }).durable;
    const said = isInfinite(place) ? await endCycle(signal) : `Recorded. ${learned?.trim() ? "" : `${REFLECT} `}Go on.`;
    return [notice, said].filter(Boolean).join("\n\n");
  };
  return [
    ...hands,
    createWorkNodeTool({ createNode: (order) => team.createNode(LEAD, order) }),
    ...mailTools({ ...mail, send: (to, content) => team.send(COORDINATOR, to, content) }),
    askHumanTool(human),
    ...coordinationTools(team, (named) => namedResults(place.pending(), place.log.dir, named), reflection),
    ...scheduleTools(place.schedule(COORDINATOR), "coordinator's"),
    // Elsewhere it ends nothing, and nobody waits for it.
    isInfinite(place) ? checkpointTool({ checkpoint }, true) : hidden(checkpointTool({ checkpoint }, true)),
  ];
}

/** Those of them that this agent was given, with what others' servers give it. */
export async function leadToolbox(place: Workplace, repeats: RepeatPorts): Promise<(hands: readonly Tool[]) => Tools> {
  const allowed = place.now().agent.created.tools;
  const foreign = await place.foreignTools(LEAD, place);
  const always = isInfinite(place) ? ["checkpoint", "finish"] : ["finish"];
  return (hands) => {
    const tools = new Toolbox(onlyThese(hands, allowed, always), () => onlyThese(foreign(), allowed, []));
    return withRepeatGuard(tools, isInfinite(place) ? { ...repeats, patient: PATIENT_IN_CYCLES } : repeats);
  };
}

export function isInfinite({ now }: Pick<Workplace, "now">): boolean {
  return now().agent.created.mode === "infinite";
}

export async function beginRun(
  run: { id: RunId; goal: string },
  scope: Scope,
  toolbox: Tools,
  before: Entry[],
  cursor: number,
  place: Workplace,
  said: { files: string; rules?: string } = { files: scope.describe() },
) {
  const { log, now, prompts } = place;
  const { created } = now().agent;
  const endless = isInfinite(place);
  const firstDay = endless ? ", your first day; each waking tells the date" : "";
  const [soul, memory, usual, around] = await Promise.all([
    textIn(scope, "agent/SOUL.md"),
    recalled(place, toolbox.specs.some(({ name }) => name === "memory_write") ? "memory" : "nothing"),
    prompts("operating-rules"),
    surroundingsOf(scope, place, said.rules === undefined ? "loop" : "program", firstDay),
  ]);
  const rules = [usual, said.rules ?? "", endless ? cycleRules(created) : ""].filter(Boolean).join("\n\n");
  const brief = { soul, goal: run.goal, surroundings: around, memory, rules, files: said.files };
  const system = coordinatorPrompt(brief);
  const from = now().agent.run?.trigger ? "agiraph" : HUMAN;
  const first: UserEntry = { role: "user", from, content: run.goal, run_id: run.id, upto: cursor };
  if (endless) first.memory = await seenMemory(place);
  const entries: Entry[] = [{ role: "system", content: system }, first];
  await log.append({ entries: { file: CONVERSATION, entries } }).durable;
  return { system, history: [...before, first], turn: 1, tried: 0, flushTurns: 0, cursor };
}

function pastHistory(stored: Awaited<ReturnType<Workplace["log"]["conversation"]>>): Entry[] {
  return pastOf(stored, "beginning", () => true)?.history ?? [];
}

/** What will come although the coordinator does nothing: news of the team, or an answer; null is neither. */
function awaited(team: Pick<CoordinationPort, "unfinished">, { pending }: Workplace): "news" | "human" | null {
  if (team.unfinished() !== null) return "news";
  return deferredBy(pending().questions, COORDINATOR, null).length > 0 ? "human" : null;
}

const PATIENCE = 4;

/**
 * Silence while the team works is patience: wait for the news, at no cost. Silence with nothing under way is asked
 * about; a whole answer given again in the face of that question is taken as the answer. A cut one never is, nor is a
 * promise, an apology, a refusal or a call that was written but not made. And where nodes failed only `finish` says that
 * the goal is met all the same.
 */
function waitOrEnd(
  run: RunId,
  team: Pick<CoordinationPort, "unfinished">,
  mailbox: Mailbox,
  waking: Waking,
  sleep: LongSleep,
  place: Workplace,
) {
  return async (silence: Silence, signal: AbortSignal): Promise<Outcome | UserEntry[]> => {
    const reason = awaited(team, place);
    if (reason !== null && mailbox.waiting === 0) await waitForMail(LEAD, reason, mailbox, place, signal);
    if (mailbox.waiting > 0) return waking.told(mailbox.take());
    // An infinite agent that has nothing more to say has ended its cycle.
    if (isInfinite(place) && (silence.missedCall === undefined || silence.inARow > 1)) {
      if (silence.inARow === 1 && hasMuchToNote(silence.history))
        return [{ role: "user", from: "agiraph", content: BEFORE_SLEEP }];
      await sleep.until(signal);
      return waking.told(mailbox.take());
    }
    return endOrAsk(run, silence, place);
  };
}

/** Nothing is under way, and it says nothing that could be followed: the end, or what it is asked. */
export function endOrAsk(
  run: RunId,
  { reply, inARow, missedCall: unheard }: Omit<Silence, "history">,
  place: Workplace,
): Outcome | UserEntry[] {
  // It says of a look that there was nothing to do; of a goal it says nothing.
  const isBeat = isQuiet(reply);
  if (isBeat && place.now().agent.run?.trigger) return finished(reply);
  const failed = failedIn(run, place.now());
  const isAnswer = reply.finish === "stop" && unheard === undefined && !isNoAnswer(textOf(reply));
  if (!isBeat && inARow > 1 && isAnswer) return failed ? notMet(failed, reply) : finished(reply);
  if (inARow > PATIENCE) return neverFinished(reply);
  const next = failed
    ? `${failed} failed. If the goal is met all the same, call finish and say what is missing; otherwise go on.`
    : "If the goal is met, call finish; otherwise go on.";
  const content = unheard ?? `You called no tool and nothing is under way. ${next}`;
  return [{ role: "user", from: "agiraph", content }];
}

function neverFinished(reply: ReplyEntry): Outcome {
  const words = textOf(reply).trim();
  const last = words === "" ? "" : ` Its last words: ${words.length > 300 ? `${words.slice(0, 299)}…` : words}`;
  return { kind: "failed", error: `The coordinator stopped calling tools and never finished.${last}` };
}

function failedIn(run: RunId, { board }: Situation): string {
  const failed = Object.values(board.nodes).filter((node) => node.spec.run_id === run && node.status === "failed");
  return failed.map(({ id }) => id).join(", ");
}

function finished(reply: ReplyEntry): Outcome {
  return { kind: "finished", summary: textOf(reply) };
}

function notMet(failed: string, reply: ReplyEntry): Outcome {
  return {
    kind: "failed",
    error: `The coordinator never finished, and ${failed} failed. Its last words: ${textOf(reply)}`,
  };
}
