import { Mailbox } from "../mail/mailbox.ts";
import type { Model } from "../models/model.ts";
import type { NodeState, Situation, WorkerState } from "../projections/index.ts";
import { type Entry, type NodeId, type Outcome, textOf, type UserEntry, type WorkerId } from "../protocol/index.ts";
import { finishPublish, preparePublish, recoverPublish } from "../store/node-folder.ts";
import { conversationFile, nodeDir } from "../store/paths.ts";
import { type Scope, workerScope } from "../store/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope-refusal.ts";
import { readRefTool } from "../tools/files.ts";
import { askHumanTool } from "../tools/human.ts";
import { mailTools } from "../tools/mail.ts";
import type { SchedulePort } from "../tools/schedule.ts";
import type { Tool, ToolOutput } from "../tools/tool.ts";
import { Toolbox, type Tools } from "../tools/toolbox.ts";
import {
  checkpointTool,
  createWorkNodeTool,
  type NewWork,
  type NodePort,
  publishTool,
  suggestTool,
} from "../tools/work.ts";
import { asking } from "./asking.ts";
import { type Actor, carryOut, type Recorder } from "./carry-out.ts";
import { lastCursor, lastNodeIn, pastOf, wordsOn } from "./past.ts";
import { type Prompts, workerPrompt } from "./prompt.ts";
import { noticingRepeats } from "./repeats.ts";
import { workerStanding } from "./restate.ts";
import type { Silence } from "./work-loop.ts";

/** What every kind of worker is given by the runtime. */
export interface Workplace extends Recorder {
  /** With what is appended and not yet on disk: decisions are made by it. */
  soon(): Situation;
  prompts: Prompts;
  today(): string;
  model(id: string): Promise<Model>;
  /** Files, shell and web, bound to what this actor may touch. */
  tools(scope: Scope, actor: Actor, model: Model, record: Recorder): Tool[];
  /** Runs a command that a spec wants to succeed; resolves with what went wrong, or null. */
  check(command: string, scope: Scope, signal: AbortSignal): Promise<string | null>;
  maxTurns: number;
  /** The zone that holds for triggers where none is named. */
  timeZone: string;
  /** What the coordinator may have happen later. */
  schedule: SchedulePort;
}

/** What a worker on a node may ask of the rest of its team. */
export interface Colleagues {
  createNode(actor: Actor, order: NewWork): Promise<ToolOutput>;
  send(from: WorkerId, to: string, content: string): Promise<ToolOutput>;
  suggest(actor: Actor, suggestion: string): Promise<ToolOutput>;
}

/** A model that works on a node in our loop, until it publishes. */
export async function workOnNode(
  node: NodeState,
  worker: WorkerState,
  team: Colleagues,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log } = place;
  const { run_id } = node.spec;
  const actor: Actor = { worker_id: worker.id, node_id: node.id, conversation: conversationFile(run_id, worker.id) };
  const { project } = place.now().agent.created;
  const scope = workerScope({ agentDir: log.dir, runId: run_id, nodeId: node.id, workerId: worker.id, project });
  const port = publisher(node, worker, scope, place, signal);
  const model = await place.model(worker.spawned.model);
  const single = node.spec.inference === "single";

  const stored = await log.conversation(actor.conversation);
  const own = wordsOn(stored, node.id);
  const begun = pastOf(own, "assignment", (entry) => entry.role === "user" && entry.node_id === node.id);
  if (begun && lastNodeIn(stored) !== node.id) {
    const again: Entry = { role: "system", content: begun.system, node_id: node.id };
    await log.append({ entries: { file: actor.conversation, entries: [again] } }).durable;
  }
  // What was said between the assignment and its first words is the first news of it.
  const assigned = "assigned_seq" in node ? node.assigned_seq : place.now().seq;
  // Whoever takes over what somebody else had begun is told all that has ended below it.
  const cursor = begun?.cursor ?? (node.reopened ? 0 : assigned);
  const on = { node: node.id, told: Math.max(lastCursor(stored), assigned) };
  const mailbox = await Mailbox.open(log, worker.id, cursor, place.now, on);
  const hands = single
    ? []
    : [place.now().agent.created.tools, worker.spawned.tools].reduce<Tool[]>(
        (tools, names) => onlyThese(tools, names, ["publish", "checkpoint", "read_ref"]),
        toolsFor(node, actor, scope, port, mailbox, team, model, place),
      );
  const toolbox = noticingRepeats(new Toolbox(hands));
  const past = begun ?? (await beginAssignment(node, worker, scope, toolbox, actor, cursor, place));
  try {
    const job = {
      ...past,
      // The contract bounds all tries together, but a try that nobody could begin would be none.
      maxTurns: Math.max(single ? 1 : place.maxTurns + past.flushTurns, past.tried + 1),
      compactable: single
        ? null
        : {
            flushWords: () => place.prompts("memory-flush"),
            restate: () => workerStanding(node, worker.id, scope, place.now(), mailbox.untoldFrom),
          },
      onSilence: single ? publishAnswer(answerFile(node), scope, port) : waitOrAsk(node, actor, mailbox, place),
    };
    const mail = () => newsOn(node, mailbox, place);
    return await carryOut(job, { model, toolbox, mail, isUrgent: () => mailbox.isUrgent }, actor, place, signal);
  } finally {
    mailbox.close();
  }
}

function toolsFor(
  node: NodeState,
  actor: Actor,
  scope: Scope,
  port: NodePort,
  mailbox: Mailbox,
  team: Colleagues,
  model: Model,
  place: Workplace,
): Tool[] {
  const mail = {
    send: (to: string, content: string) => team.send(actor.worker_id, to, content),
    waiting: () => mailbox.waiting,
    arrived: (signal: AbortSignal) =>
      waitForMail(actor, openBelow(node, place.now()).length > 0 ? "children" : "news", mailbox, place, signal),
  };
  const refs = Object.keys(node.spec.refs).length > 0 ? [readRefTool(scope, node.spec.refs)] : [];
  return [
    ...place.tools(scope, actor, model, place),
    ...refs,
    ...mailTools(mail),
    askHumanTool(asking(actor, place)),
    createWorkNodeTool({ createNode: (order) => team.createNode(actor, order) }),
    suggestTool((suggestion) => team.suggest(actor, suggestion)),
    checkpointTool({ checkpoint: (summary) => checkpoint(summary, node, actor, scope, port, place) }),
    publishTool(port),
  ];
}

/**
 * The tools an agent was given bind everyone in it, and a worker may be hired with fewer. What one needs to take up and
 * to end one's work one always has.
 */
export function onlyThese(
  tools: Tool[],
  names: readonly string[] | null | undefined,
  always: readonly string[],
): Tool[] {
  return names ? tools.filter(({ spec: { name } }) => names.includes(name) || always.includes(name)) : tools;
}

/** A role of seed 000 has done its part with its checkpoint; anybody else goes on. */
async function checkpoint(
  summary: string,
  node: NodeState,
  { worker_id, node_id }: Actor,
  scope: Scope,
  port: NodePort,
  { log }: Workplace,
): Promise<ToolOutput> {
  await log.append({ facts: [{ type: "worker.checkpointed", data: { worker_id, node_id, summary } }] }).durable;
  if (node.spec.role === undefined) return "Recorded. Put what later work will need into your memory.md. Go on.";
  if (scope.list("scratch", { limit: 1 }).entries.length === 0)
    await scope.writeFile("scratch/summary.md", `${summary}\n`);
  // Who stays for the next stage knows what they did in this one.
  const published = await port.publish(summary, summary, "must have ended");
  if (!published.ok) return { ok: false, content: `Recorded, but not published: ${published.reason}` };
  return { content: "Recorded. Your part of the stage is done.", ending: { kind: "published", summary } };
}

/** The first words of an assignment, on disk with the prompt they were said under. */
async function beginAssignment(
  node: NodeState,
  worker: WorkerState,
  scope: Scope,
  toolbox: Tools,
  actor: Actor,
  cursor: number,
  { log, prompts, today }: Workplace,
) {
  const [identity, memory, notebook, spec, rules] = await Promise.all([
    textIn(scope, "identity.md"),
    textIn(scope, "memory.md"),
    textIn(scope, "notebook.md"),
    textIn(scope, "_spec.md"),
    prompts("worker-rules"),
  ]);
  const refs = Object.entries(node.spec.refs)
    .map(([name, target]) => `- ${name}: nodes/${target}`)
    .join("\n");
  const brief = {
    name: worker.spawned.name,
    identity,
    memory,
    notebook,
    today: today(),
    spec,
    refs,
    rules,
    files: scope.describe(),
  };
  const system = workerPrompt(brief, toolbox.specs);
  const first: UserEntry = {
    role: "user",
    from: node.spec.created_by,
    content: node.spec.task,
    node_id: node.id,
    run_id: node.spec.run_id,
    upto: cursor,
  };
  const entries: Entry[] = [{ role: "system", content: system }, first];
  await log.append({ entries: { file: actor.conversation, entries } }).durable;
  return { system, history: [first], turn: 1, tried: 0, flushTurns: 0, cursor };
}

const MAX_PROMPT_FILE_BYTES = 64 * 1024;
const MAX_MEMORY_BYTES = 8 * 1024 * 1024;

/** By the worker's own scope: its shell could have put a link to anything in the place of its notes. */
export async function textIn(scope: Scope, path: string): Promise<string> {
  try {
    const { bytes, truncated } = await scope.readFile(path, { maxBytes: MAX_PROMPT_FILE_BYTES });
    return `${bytes.toString("utf8")}${truncated ? `\n(${path} goes on; this is its beginning.)` : ""}`;
  } catch (error) {
    if (error instanceof ScopeRefusal || error instanceof FileNotFound)
      return `(${path} cannot be read: ${error.message})`;
    throw error;
  }
}

/**
 * Publishing: check, record the intent with its manifest, rename once. Safe to repeat after a crash at any point; the
 * node is completed by whoever sees the outcome.
 */
export function publisher(
  node: NodeState,
  worker: WorkerState,
  scope: Scope,
  place: Workplace,
  signal: AbortSignal,
): NodePort {
  const { log, now } = place;
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  return {
    async publish(summary, learned, below) {
      const current = now().board.nodes[node.id];
      if (current?.status === "completed") return { ok: true, files: current.files };
      if (current?.status === "publishing") {
        await recoverPublish(dir, current.files);
        return { ok: true, files: current.files };
      }
      const open = openBelow(node, place.soon());
      if (below === "must have ended" && open.length > 0) return { ok: false, reason: stillOpen(open) };
      for (const command of node.spec.checks ?? []) {
        const problem = await place.check(command, scope, signal);
        if (problem !== null) return { ok: false, reason: `the check \`${command}\` did not pass.\n${problem}` };
      }
      const prepared = await preparePublish(dir, node.spec.deliverables);
      if (!prepared.ok) return prepared;
      if (learned.trim()) await remember(scope, node, learned);
      if (isOver(place.soon().board.nodes[node.id])) return { ok: false, reason: "the node has been ended." };
      const intent = { node_id: node.id, worker_id: worker.id, summary, files: prepared.files };
      await log.append({ facts: [{ type: "node.published", data: intent }] }).durable;
      await finishPublish(dir, prepared.files);
      return { ok: true, files: prepared.files };
    },
  };
}

/** What a worker learned goes with it to its next node. */
async function remember(scope: Scope, node: NodeState, learned: string): Promise<void> {
  // The whole of it: what is shown in a prompt may be cut, what is kept must not be.
  const { bytes } = await scope.readFile("memory.md", { maxBytes: MAX_MEMORY_BYTES });
  const memory = bytes.toString("utf8");
  const heading = `## ${node.id}: ${node.spec.task.split("\n", 1)[0]?.slice(0, 80)}`;
  if (!memory.includes(heading))
    await scope.writeFile("memory.md", `${memory.trimEnd()}\n\n${heading}\n\n${learned.trim()}\n`.trimStart());
}

const PATIENCE = 3;

/** Silence while others work on its sub-nodes is patience; otherwise a worker is reminded, a few times in a row. */
function waitOrAsk(node: NodeState, actor: Actor, mailbox: Mailbox, place: Workplace) {
  return async ({ inARow }: Silence, signal: AbortSignal): Promise<Outcome | UserEntry[]> => {
    if (openBelow(node, place.now()).length > 0 && mailbox.waiting === 0) {
      await waitForMail(actor, "children", mailbox, place, signal);
    }
    if (mailbox.waiting > 0) return newsOn(node, mailbox, place);
    if (inARow > PATIENCE) return { kind: "failed", error: "The worker stopped calling tools and never published." };
    const content = "You called no tool. If the work is done, write it to scratch/ and call publish; otherwise go on.";
    return [{ role: "user", from: "agiraph", content }];
  };
}

/** Mail has expired for whoever's node was ended from outside. */
function newsOn({ id }: NodeState, mailbox: Mailbox, { soon }: Workplace): UserEntry[] {
  return isOver(soon().board.nodes[id]) ? [] : mailbox.take();
}

/** Nodes whose results this one waits for: what it handed out, and what those who have ended left behind. */
function openBelow({ id }: Pick<NodeState, "id">, now: Situation): NodeId[] {
  const children = now.board.nodes[id]?.children ?? [];
  return children.flatMap((child) => (isOver(now.board.nodes[child]) ? openBelow({ id: child }, now) : [child]));
}

function stillOpen(open: readonly NodeId[]): string {
  const [they, them, their] =
    open.length > 1 ? ["run", "them", "their results then reach"] : ["runs", "it", "its result then reaches"];
  return `${open.join(", ")}, which you handed out, still ${they}. Say nothing and wait for ${them}, or publish with leave: true; ${their} whoever is above you.`;
}

/** Ended by whoever works on it, or from outside, with the run. */
export function isOver(node: NodeState | undefined): boolean {
  return node?.status === "completed" || node?.status === "failed";
}

/** Waiting is a promise that the log resolves; it costs nothing and everyone can see it. */
export async function waitForMail(
  { worker_id, node_id }: Actor,
  reason: "news" | "children",
  mailbox: Mailbox,
  { log }: Recorder,
  signal: AbortSignal,
): Promise<void> {
  const who = { worker_id, node_id };
  await log.append({ facts: [{ type: "worker.waiting", data: { ...who, for: reason } }] }).durable;
  await mailbox.arrived(signal);
  await log.append({ facts: [{ type: "worker.busy", data: who }] }).durable;
}

/** Where one answer goes: what the spec asks for, when that is one file. */
function answerFile({ spec }: NodeState): string {
  const [only, ...more] = spec.deliverables;
  return only !== undefined && more.length === 0 && !only.endsWith("/") ? only : "answer.md";
}

/** One shot, no tools: the answer is the deliverable, when it is whole. */
function publishAnswer(file: string, scope: Scope, port: NodePort) {
  return async ({ reply }: Silence): Promise<Outcome> => {
    if (reply.finish === "length")
      return { kind: "abandoned", error: "The answer was cut off: it is too long for one reply." };
    const answer = textOf(reply);
    const summary = answer.trim().split("\n", 1)[0]?.slice(0, 300) || "(no words)";
    await scope.writeFile(`scratch/${file}`, answer);
    const published = await port.publish(summary, "", "must have ended");
    return published.ok ? { kind: "published", summary } : { kind: "failed", error: published.reason };
  };
}
