import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Mailbox } from "../../mail/mailbox.ts";
import { COORDINATOR, NO_USAGE, type Outcome, type RunId } from "../../protocol/index.ts";
import { leadDesk, runDir } from "../../store/paths.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import type { Scope } from "../../store/scope/scope.ts";
import { coordinatorScope } from "../../store/scope/team-scopes.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Tools } from "../../tools/toolbox.ts";
import {
  beginRun,
  CONVERSATION,
  endOrAsk,
  isInfinite,
  LEAD,
  leadToolbox,
  leadTools,
  reflectionOn,
  surroundings,
  type TeamPort,
  withoutGivingUp,
} from "../coordinator.ts";
import { nextCycle } from "../loop/cycles.ts";
import { type Past, pastOf } from "../loop/past.ts";
import { outcomeOf } from "../loop/recorded-loop.ts";
import type { RepeatPorts } from "../loop/repeat-guard.ts";
import { restateForCoordinator } from "../loop/restate.ts";
import { Waking } from "../loop/waking.ts";
import type { Workplace } from "../workplace.ts";
import { projectLine, RESUMED, saidLast } from "./first-words.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import { ProgramRun } from "./program-run.ts";
import { checkMessagesTool, type ProgramToolPorts } from "./program-tools.ts";
import { programOf, sessionKey } from "./programs.ts";

/**
 * A program that thinks for itself leads a run: the coordinator's tools are at its door, what happens is said to it, and
 * its session goes on through all runs of its agent, as a conversation does.
 */
export async function coordinateOutside(
  run: { id: RunId; goal: string },
  team: TeamPort,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log, now } = place;
  const spawned = now().roster[COORDINATOR]?.spawned;
  if (!spawned) throw new Error("A run has a coordinator.");
  const profile = place.outside.program(programOf(spawned));
  const begun = begunIn(await log.conversation(CONVERSATION), run.id);
  // What was said since the run began is its first news.
  const cursor = begun?.cursor ?? now().agent.run?.started_seq ?? now().seq;
  const mailbox = await Mailbox.open(log, COORDINATOR, cursor, now);
  const over = new AbortController();
  let programRun: ProgramRun | undefined;
  try {
    const assignment = await leadAssignment(run, spawned, begun, cursor, mailbox, team, place);
    programRun = new ProgramRun(assignment, profile, place, AbortSignal.any([signal, over.signal]));
    return await programRun.work();
  } catch (error) {
    return outcomeOf(error, signal);
  } finally {
    await programRun?.end(signal.aborted ? "at once" : "gently");
    over.abort(new Error("the run has ended"));
    mailbox.close();
  }
}

/** What was said in this run: of the runs before it the program remembers what it does. */
function begunIn(stored: Awaited<ReturnType<Workplace["log"]["conversation"]>>, run: RunId): Past | undefined {
  const past = pastOf(stored, "assignment", (entry) => entry.role === "user" && entry.run_id === run);
  return past && { ...past, history: past.history.map(withoutGivingUp) };
}

async function leadAssignment(
  run: { id: RunId; goal: string },
  spawned: ProgramAssignment["spawned"],
  begun: Past | undefined,
  cursor: number,
  mailbox: Mailbox,
  team: TeamPort,
  place: Workplace,
): Promise<ProgramAssignment> {
  const { log, now, pending, clock, timeZone } = place;
  const { project } = now().agent.created;
  const published = manifestsOf(() => now().board);
  const scope = coordinatorScope({ agentDir: log.dir, runId: run.id, project, published });
  // The same in every run: programs know their sessions by the folder they work in.
  const folder = leadDesk(log.dir);
  mailbox.aside = () => team.begun(COORDINATOR);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const session = now().outside.sessions[sessionKey(LEAD)];
  const reflection = reflectionOn(run.id, begun, place);
  let slept = 0;
  const before = (begun?.turn ?? 1) - 1;
  const waking = new Waking(LEAD, mailbox, place, []);
  const othersWork = () => team.unfinished() !== null;
  const repeats = { othersWork, cycle: () => slept };
  const toolsFor = await leadProgramTools(run, team, scope, mailbox, reflection, repeats, place);
  return {
    actor: LEAD,
    // One home for all runs, as there is one conversation.
    run_id: "run-1",
    spawned,
    mailbox,
    begun,
    resume: session?.session_id ?? null,
    assigned: 0,
    cwd: folder,
    async binds() {
      const binds = await scope.binds();
      return { ...binds, write: [...binds.write, folder] };
    },
    context: { run_id: run.id, goal: run.goal },
    tools: toolsFor,
    async begin(tools) {
      const rules = await place.prompts("outside-lead");
      const said = {
        files: leadFiles(run.id, log.dir, project && projectLine(project, (await scope.binds()).omitted)),
        rules,
      };
      const { system } = await beginRun(run, scope, tools, [], cursor, place, said);
      return { system, words: run.goal };
    },
    past: async () => begunIn(await log.conversation(CONVERSATION), run.id)?.history ?? [],
    async newSessionText(past, told) {
      const sections = await restateForCoordinator(run, scope, now(), mailbox.untoldFrom, await surroundings(place));
      const stand = sections
        .filter(({ text }) => text.trim() !== "")
        .map(({ title, text }) => `## ${title}\n\n${text}`);
      const lost = "The session in which you began this is lost. This is how things stand, from the record:";
      const said = saidLast(past).map(({ content }) => content);
      return [RESUMED, lost, ...stand, ...told, ...said, "Go on from here."].join("\n\n");
    },
    hasEnded: () => false,
    news: () => waking.told(mailbox.take()),
    // Each cycle of an infinite agent has turns of its own; taken up again, it may take as many turns again.
    mostTurns: () => before + place.maxTurns * (1 + slept),
    othersWork,
    async waitsFor() {
      if (othersWork()) return "news";
      if (!isInfinite(place)) return null;
      const facts = nextCycle(pending(), clock.now(), timeZone);
      if (facts.length > 0) await log.append({ facts }).durable;
      slept += 1;
      return "news";
    },
    async onSilence(text, inARow) {
      const details = { model: spawned.model, usage: NO_USAGE, cost_usd: 0, finish: "stop" };
      return endOrAsk(
        run.id,
        { reply: { role: "assistant", content: [{ type: "text", text }], ...details }, inARow },
        place,
      );
    },
    // Nobody would try it again, and a whole team waits for it.
    restarts: 2,
    endsBy: "finishing",
  };
}

/** Its own tools are its hands: of ours it gets those that reach beyond its folder. */
async function leadProgramTools(
  run: { id: RunId; goal: string },
  team: TeamPort,
  scope: Scope,
  mailbox: Mailbox,
  reflection: ReturnType<typeof reflectionOn>,
  repeats: RepeatPorts,
  place: Workplace,
): Promise<(ports: ProgramToolPorts) => Tools> {
  const hands = place.tools(scope, LEAD, { searchesWeb: true }, place).filter(isMemory);
  const mail = { waiting: () => mailbox.waiting, arrived: async () => {} };
  const endCycle = async () =>
    "Recorded. End your turn now: you sleep until the next cycle, or until somebody needs you.";
  const box = await leadToolbox(place, repeats);
  return ({ human, waits }) => {
    const tools = leadTools(run, team, { baseTools: hands, mail, human, endCycle }, reflection, place);
    return box(tools.map((tool) => (tool.spec.name === "check_messages" ? checkMessagesTool(waits) : tool)));
  };
}

function isMemory({ spec }: Tool): boolean {
  return /^(memory|insight)_|_insights?$/.test(spec.name);
}

/** Where things are for a program, which knows no short names: by their paths. */
function leadFiles(run: RunId, dir: string, inProject: string | null): string {
  const lines = [
    `- Your current folder, ${leadDesk(dir)}: yours to write, for drafts and tries; it stays from run to run, and nobody else looks there.`,
    `- ${runDir(dir, run)}: this run, yours to write too: what your human or your team is to find, e.g. notes/findings.md; results go to output/.`,
    `- ${dir} holds everything of this agent; you may read it. Its memory you write with memory_write.`,
    `- ${join(runDir(dir, run), "nodes", "NODE", "published")}: what a node has made.`,
    ...(inProject === null ? [] : [inProject]),
    "- Everything else is out of reach.",
  ];
  return `# Your files\n\n${lines.join("\n")}`;
}
