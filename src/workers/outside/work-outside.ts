import { join } from "node:path";
import { hasEnded, type NodeState, openBelow, type WorkerState } from "../../projections/index.ts";
import { NO_USAGE, type Outcome, type UserEntry } from "../../protocol/index.ts";
import { nodeDir, runDir } from "../../store/paths.ts";
import { beginAssignment } from "../assignment.ts";
import { SMALL_INPUTS } from "../inputs.ts";
import { outcomeOf } from "../loop/recorded-loop.ts";
import { untoldMail } from "../loop/waiting.ts";
import { type NodeWork, pastOn, resumeWork } from "../node-work.ts";
import { publishAnswer } from "../publishing.ts";
import { projectFolder } from "../surroundings.ts";
import type { Colleagues, Workplace } from "../workplace.ts";
import { filesText, newSessionText } from "./first-words.ts";
import type { ProgramAssignment } from "./program-assignment.ts";
import { ProgramRun } from "./program-run.ts";
import { type ListForeignTools, programToolbox } from "./program-tools.ts";
import { programOf } from "./programs.ts";

const PATIENCE = 3;

/** A program that thinks for itself works on a node, until it publishes. */
export async function workOutside(
  node: NodeState,
  worker: WorkerState,
  team: Colleagues,
  workplace: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const over = new AbortController();
  let programRun: ProgramRun | undefined;
  const work = await resumeWork(node, worker, workplace, signal, async () => programRun?.stopForPublish());
  try {
    const profile = workplace.outside.program(programOf(worker.spawned));
    const speaksByFiles = profile.kind === "autonomous";
    // A program that speaks by files cannot call tools.
    const callsTools = !speaksByFiles && node.spec.inference !== "single";
    const foreign = callsTools ? await workplace.foreignTools(work.self, workplace) : () => [];
    const assignment = nodeAssignment(work, team, foreign, speaksByFiles);
    programRun = new ProgramRun({ assignment, profile, workplace, signal: AbortSignal.any([signal, over.signal]) });
    return await programRun.work();
  } catch (error) {
    return outcomeOf(error, signal);
  } finally {
    await programRun?.end(signal.aborted ? "at once" : "gently");
    over.abort(new Error("the work has ended"));
    work.mailbox.close();
  }
}

function nodeAssignment(
  work: NodeWork,
  team: Colleagues,
  foreign: ListForeignTools,
  speaksByFiles: boolean,
): ProgramAssignment {
  const { node, worker, workplace, self, scope, mailbox, begun } = work;
  mailbox.aside = () => team.begun(worker.id);
  const { spawned } = worker;
  const { run_id, task, deliverables, refs, role } = node.spec;
  const about = { run_id, node_id: node.id, worker: spawned.name, ...(role !== undefined && { role }) };
  const session = workplace.now().outside.sessions[node.id];
  // What is not on disk yet has not been told yet either.
  const othersWork = () =>
    [workplace.pending(), workplace.now()].some(({ board }) => openBelow(node, board).length > 0);
  return {
    self,
    run_id,
    spawned,
    mailbox,
    begun,
    resume: begun && session?.worker_id === worker.id ? session.session_id : null,
    assigned: "assigned_seq" in node ? node.assigned_seq : 0,
    cwd: scope.cwd,
    ...(projectFolder(scope) === "repo" && { scratch: join(nodeDir(workplace.log.dir, run_id, node.id), "scratch") }),
    binds: () => scope.binds(),
    context: { ...about, task, deliverables, refs },
    tools: (ports) => programToolbox(work, ports, team, foreign),
    begin: () => beginOnNode(work, speaksByFiles),
    past: async () => pastOn(node, await workplace.log.conversation(self.conversation))?.history ?? [],
    newSessionText: async (past, told) => newSessionText(node, past, told),
    hasEnded: () => hasEnded(workplace.pending().board.nodes[node.id]),
    news: () => untoldMail(work),
    mostTurns: () => workplace.maxTurns,
    othersWork,
    waitsFor: async () => (othersWork() ? "children" : null),
    onReplyWithoutCall: (words, inARow) => publishOrRemind(words, inARow, work),
    // A node that fails is tried again by the runtime.
    restarts: 0,
    endsBy: "publishing",
  };
}

async function beginOnNode(work: NodeWork, speaksByFiles: boolean): Promise<{ system: string; words: string }> {
  const { node, workplace } = work;
  const pathOf = (target: string) => join(runDir(workplace.log.dir, node.spec.run_id), "nodes", target);
  const { system, words } = await beginAssignment(work, {
    rules: speaksByFiles ? "outside-files" : "outside-rules",
    files: await filesText(work),
    inputs: { inline: SMALL_INPUTS, beyond: "described", pathOf },
    audience: "program",
  });
  return { system, words };
}

async function publishOrRemind(words: string, inARow: number, work: NodeWork): Promise<Outcome | UserEntry[]> {
  const { node, worker, scope, port } = work;
  if (node.spec.inference === "single")
    return publishWords(words, worker.spawned.model, publishAnswer(node, scope, port));
  if (inARow > PATIENCE) return publishAsItIs(words, work);
  const content =
    "Your turn is over and nothing is published. If the work is done, call publish of the agiraph server; otherwise go on.";
  return [{ role: "user", from: "agiraph", content }];
}

function publishWords(text: string, model: string, publish: ReturnType<typeof publishAnswer>): Promise<Outcome> {
  const details = { model, usage: NO_USAGE, cost_usd: 0, finish: "stop" };
  return publish({ reply: { role: "assistant", content: [{ type: "text", text }], ...details } });
}

/** It does not publish, however often it is asked; what there is may still be what was wanted. */
async function publishAsItIs(words: string, { port }: NodeWork): Promise<Outcome> {
  const summary = words.trim().slice(0, 2000) || "(no words)";
  const published = await port.publish(summary, "", "must have ended");
  if (published.ok) return { kind: "published", summary };
  return {
    kind: "failed",
    error: `It ended its turn ${PATIENCE + 1} times and never published: ${published.reason}`,
  };
}
