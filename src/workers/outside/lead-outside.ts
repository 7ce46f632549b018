import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Mailbox } from "../../mail/mailbox.ts";
import { COORDINATOR, NO_USAGE, type Outcome, type RunId } from "../../protocol/index.ts";
import { leadFolder, runDir } from "../../store/paths.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import type { Scope } from "../../store/scope/scope.ts";
import { coordinatorScope } from "../../store/scope/team-scopes.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Tools } from "../../tools/toolbox.ts";
import { isInfinite, nextCycle } from "../coordinator/cycles.ts";
import { leadToolbox, leadTools, reflectionOn, type TeamPort } from "../coordinator/lead-tools.ts";
import { endOrAsk } from "../coordinator/reply-without-call.ts";
import { beginRun, CONVERSATION, LEAD, surroundings, withoutGivingUp } from "../coordinator/run-start.ts";
import { Waking } from "../coordinator/waking.ts";
import { type Past, pastOf } from "../loop/past.ts";
import { outcomeOf } from "../loop/recorded-loop.ts";
import { restateForCoordinator } from "../loop/restate.ts";
import type { Workplace } from "../workplace.ts";
import { projectLine, RESUMED, saidLast } from "./first-words.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import { ProgramRun } from "./program-run.ts";
import { checkMessagesTool, type ProgramToolPorts } from "./program-tools.ts";
import { programOf, sessionKey } from "./programs.ts";

/**
 * A program that thinks for itself leads a run: it has the coordinator's tools, what happens is said to it, and its
 * session goes on through all runs of its agent, as a conversation does.
 */
export async function coordinateOutside(
  run: { id: RunId; goal: string },
  team: TeamPort,
  workplace: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log, now } = workplace;
  const { project } = now().agent.created;
  const spawned = now().roster[COORDINATOR]?.spawned;
  if (!spawned) throw new Error("run without a coordinator");
  const profile = workplace.outside.program(programOf(spawned));
  const begun = begunIn(await log.conversation(CONVERSATION), run.id);
  // What was said since the run began is its first news.
  const cursor = begun?.cursor ?? now().agent.run?.started_seq ?? now().seq;
  const mailbox = await Mailbox.open(log, COORDINATOR, cursor, now);
  const over = new AbortController();
  let programRun: ProgramRun | undefined;
  try {
    const published = manifestsOf(() => now().board);
    const scope = coordinatorScope({ agentDir: log.dir, runId: run.id, project, published });
    const assignment = await leadAssignment({ run, spawned, begun, cursor, mailbox, team, workplace, scope });
    programRun = new ProgramRun({ assignment, profile, workplace, signal: AbortSignal.any([signal, over.signal]) });
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

/** A run and the program that leads it. */
interface Lead {
  run: { id: RunId; goal: string };
  spawned: ProgramAssignment["spawned"];
  begun: Past | undefined;
  cursor: number;
  mailbox: Mailbox;
  team: TeamPort;
  workplace: Workplace;
  scope: Scope;
}

async function leadAssignment(lead: Lead): Promise<ProgramAssignment> {
  const { run, spawned, begun, mailbox, team, workplace, scope } = lead;
  const { log, now } = workplace;
  // The same in every run: programs know their sessions by the folder they work in.
  const folder = leadFolder(log.dir);
  mailbox.aside = () => team.begun(COORDINATOR);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const session = now().outside.sessions[sessionKey(LEAD)];
  const waking = new Waking(LEAD, mailbox, workplace, []);
  const turns = leadTurns(lead);
  return {
    self: LEAD,
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
    tools: await leadProgramTools(lead, turns.cycle),
    begin: (tools) => beginLead(lead, tools),
    past: async () => begunIn(await log.conversation(CONVERSATION), run.id)?.history ?? [],
    newSessionText: (past, told) => newLeadSession(lead, past, told),
    hasEnded: () => false,
    news: () => waking.told(mailbox.take()),
    ...turns,
    // A failed run is not tried again, and a whole team waits for its lead.
    restarts: 2,
    endsBy: "finishing",
  };
}

/** When a turn is over: what the lead waits for, and how many more turns it may take. */
function leadTurns({ run, spawned, begun, team, workplace }: Lead) {
  const { log, pending, clock, timeZone } = workplace;
  const before = (begun?.turn ?? 1) - 1;
  let slept = 0;
  const othersWork = () => team.unfinished() !== null;
  return {
    /** The number of the cycle in this process. */
    cycle: () => slept,
    othersWork,
    // Each cycle of an infinite agent has its own turns; a run that is resumed gets the full number again.
    mostTurns: () => before + workplace.maxTurns * (1 + slept),
    async waitsFor(): Promise<"news" | null> {
      if (othersWork()) return "news";
      if (!isInfinite(workplace)) return null;
      const facts = nextCycle(pending(), clock.now(), timeZone);
      if (facts.length > 0) await log.append({ facts }).durable;
      slept += 1;
      return "news";
    },
    async onReplyWithoutCall(text: string, inARow: number) {
      const details = { model: spawned.model, usage: NO_USAGE, cost_usd: 0, finish: "stop" };
      const reply = { role: "assistant" as const, content: [{ type: "text" as const, text }], ...details };
      return endOrAsk(run.id, { reply, inARow }, workplace);
    },
  };
}

async function beginLead({ run, scope, cursor, workplace }: Lead, toolbox: Tools) {
  const { project } = workplace.now().agent.created;
  const rules = await workplace.prompts("outside-lead");
  const inProject = project && (await projectLine(project, (await scope.binds()).omitted));
  const program = { files: leadFiles(run.id, workplace.log.dir, inProject), rules };
  const { system } = await beginRun({ run, scope, toolbox, cursor, workplace, before: [], program });
  return { system, words: run.goal };
}

async function newLeadSession(
  { run, scope, mailbox, workplace }: Lead,
  past: Parameters<ProgramAssignment["newSessionText"]>[0],
  told: readonly string[],
): Promise<string> {
  const around = await surroundings(workplace, "program");
  const sections = await restateForCoordinator(run, scope, workplace.now(), mailbox.untoldFrom, around);
  const state = sections.filter(({ text }) => text.trim() !== "").map(({ title, text }) => `## ${title}\n\n${text}`);
  const lost = "The session in which you began this is lost. This is how things stand, from the record:";
  const said = saidLast(past).map(({ content }) => content);
  return [RESUMED, lost, ...state, ...told, ...said, "Go on from here."].join("\n\n");
}

/** It has tools of its own for files and commands: of ours it gets those that reach beyond its folder. */
async function leadProgramTools(
  { run, begun, mailbox, team, workplace, scope }: Lead,
  cycle: () => number,
): Promise<(ports: ProgramToolPorts) => Tools> {
  const reflection = reflectionOn(run.id, begun, workplace);
  const baseTools = workplace.tools(scope, LEAD, { searchesWeb: true }, workplace).filter(isMemory);
  const mail = { waiting: () => mailbox.waiting, arrived: async () => {} };
  const endCycle = async () =>
    "Recorded. End your turn now: you sleep until the next cycle, or until somebody needs you.";
  const limited = await leadToolbox(workplace, { othersWork: () => team.unfinished() !== null, cycle });
  return ({ human, waits }) => {
    const tools = leadTools(run, team, { baseTools, mail, human, endCycle }, reflection, workplace);
    return limited(tools.map((tool) => (tool.spec.name === "check_messages" ? checkMessagesTool(waits) : tool)));
  };
}

function isMemory({ spec }: Tool): boolean {
  return /^(memory|insight)_|_insights?$/.test(spec.name);
}

/** Where things are, by their full paths: a program does not know the short names of a scope. */
function leadFiles(run: RunId, dir: string, inProject: string | null): string {
  const lines = [
    `- Your current folder, ${leadFolder(dir)}: yours to write, for drafts and tries; it stays from run to run, and nobody else looks there.`,
    `- ${runDir(dir, run)}: this run, yours to write too: what your human or your team is to find, e.g. notes/findings.md; results go to output/.`,
    `- ${dir} holds everything of this agent; you may read it. Its memory you write with memory_write.`,
    `- ${join(runDir(dir, run), "nodes", "NODE", "published")}: what a node has made.`,
    ...(inProject === null ? [] : [inProject]),
    "- Everything else is out of reach.",
  ];
  return `# Your files\n\n${lines.join("\n")}`;
}
