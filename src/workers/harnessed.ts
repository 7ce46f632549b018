import { Mailbox } from "../mail/mailbox.ts";
import type { Model } from "../models/model.ts";
import type { NodeState, WorkerState } from "../projections/index.ts";
import { type Entry, type Outcome, type ReplyEntry, textOf, type UserEntry } from "../protocol/index.ts";
import { finishPublish, preparePublish } from "../store/node-folder.ts";
import { conversationFile, nodeDir } from "../store/paths.ts";
import { type Scope, workerScope } from "../store/scope.ts";
import { readRefTool } from "../tools/files.ts";
import type { Tool } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { checkpointTool, type NodePort, publishTool } from "../tools/work.ts";
import { type Actor, carryOut, type Recorder } from "./carry-out.ts";
import { pastOf } from "./past.ts";
import { type Prompts, workerPrompt } from "./prompt.ts";

/** What every kind of worker is given by the runtime. */
export interface Workplace extends Recorder {
  prompts: Prompts;
  today(): string;
  model(id: string): Promise<Model>;
  /** Files, shell and web, bound to what this actor may touch. */
  tools(scope: Scope, actor: Actor, model: Model, record: Recorder): Tool[];
  maxTurns: number;
}

/** A model that works on a node in our loop, until it publishes. */
export async function workOnNode(
  node: NodeState,
  worker: WorkerState,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log } = place;
  const { run_id } = node.spec;
  const actor: Actor = { worker_id: worker.id, node_id: node.id, conversation: conversationFile(run_id, worker.id) };
  const { project } = place.now().agent.created;
  const scope = workerScope({ agentDir: log.dir, runId: run_id, nodeId: node.id, workerId: worker.id, project });
  const port = publisher(node, worker, place);
  const model = await place.model(worker.spawned.model);
  const single = node.spec.inference === "single";
  const tools = single ? [] : toolsFor(node, actor, scope, port, model, place);
  const toolbox = new Toolbox(tools);

  const stored = await log.conversation(actor.conversation);
  const past =
    pastOf(stored, "assignment", (entry) => entry.role === "user" && entry.node_id === node.id) ??
    (await beginAssignment(node, worker, scope, model, toolbox, actor, place));
  const mailbox = await Mailbox.open(log, worker.id, past.cursor, place.now);
  try {
    const job = {
      ...past,
      maxTurns: single ? 1 : place.maxTurns,
      onSilence: single ? publishAnswer(scope, port) : askForPublish(),
    };
    return await carryOut(job, { model, toolbox, mail: () => mailbox.take() }, actor, place, signal);
  } finally {
    mailbox.close();
  }
}

function toolsFor(node: NodeState, actor: Actor, scope: Scope, port: NodePort, model: Model, place: Workplace): Tool[] {
  const { worker_id, node_id } = actor;
  const checkpoint = async (summary: string) => {
    await place.log.append({ facts: [{ type: "worker.checkpointed", data: { worker_id, node_id, summary } }] }).durable;
  };
  const refs = Object.keys(node.spec.refs).length > 0 ? [readRefTool(scope, node.spec.refs)] : [];
  return [...place.tools(scope, actor, model, place), ...refs, checkpointTool({ checkpoint }), publishTool(port)];
}

/** The first words of an assignment, on disk with the prompt they were said under. */
async function beginAssignment(
  node: NodeState,
  worker: WorkerState,
  scope: Scope,
  model: Model,
  toolbox: Toolbox,
  actor: Actor,
  { log, now, prompts, today }: Workplace,
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
  const system = workerPrompt(brief, model, toolbox.specs);
  const first: UserEntry = {
    role: "user",
    from: node.spec.created_by,
    content: node.spec.task,
    node_id: node.id,
    run_id: node.spec.run_id,
    upto: now().seq,
  };
  const entries: Entry[] = [{ role: "system", content: system }, first];
  await log.append({ entries: { file: actor.conversation, entries } }).durable;
  return { system, history: [first], turn: 1, cursor: now().seq };
}

const MAX_PROMPT_FILE_BYTES = 64 * 1024;

/** By the worker's own scope: its shell could have put a link to anything in the place of its notes. */
async function textIn(scope: Scope, path: string): Promise<string> {
  const { bytes } = await scope.readFile(path, { maxBytes: MAX_PROMPT_FILE_BYTES });
  return bytes.toString("utf8");
}

/**
 * Publishing: check, record the intent with its manifest, rename once. Safe to repeat after a crash at any point; the
 * node is completed by whoever sees the outcome.
 */
export function publisher(node: NodeState, worker: WorkerState, { log, now }: Recorder): NodePort {
  const dir = nodeDir(log.dir, node.spec.run_id, node.id);
  return {
    async publish(summary) {
      const current = now().board.nodes[node.id];
      if (current?.status === "completed") return { ok: true, files: current.files };
      if (current?.status === "publishing") {
        await finishPublish(dir, current.files);
        return { ok: true, files: current.files };
      }
      const prepared = await preparePublish(dir, node.spec.deliverables);
      if (!prepared.ok) return prepared;
      const intent = { node_id: node.id, worker_id: worker.id, summary, files: prepared.files };
      await log.append({ facts: [{ type: "node.published", data: intent }] }).durable;
      await finishPublish(dir, prepared.files);
      return { ok: true, files: prepared.files };
    },
  };
}

const PATIENCE = 3;

/** A worker that falls silent is reminded, a few times. */
function askForPublish() {
  let silences = 0;
  return async (): Promise<Outcome | UserEntry[]> => {
    silences += 1;
    if (silences > PATIENCE) return { kind: "failed", error: `The worker stopped calling tools and never published.` };
    const content = "You called no tool. If the work is done, write it to scratch/ and call publish; otherwise go on.";
    return [{ role: "user", from: "agiraph", content }];
  };
}

/** One shot, no tools: the answer is the deliverable. */
function publishAnswer(scope: Scope, port: NodePort) {
  return async (reply: ReplyEntry): Promise<Outcome> => {
    const answer = textOf(reply);
    const summary = answer.trim().split("\n", 1)[0]?.slice(0, 300) || "(no words)";
    await scope.writeFile("scratch/answer.md", answer);
    const published = await port.publish(summary);
    return published.ok ? { kind: "published", summary } : { kind: "failed", error: published.reason };
  };
}
