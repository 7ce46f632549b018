import { Mailbox } from "../mail/mailbox.ts";
import type { Model } from "../models/model.ts";
import { type NodeState, openBelow, type WorkerState } from "../projections/index.ts";
import type { Entry, Outcome } from "../protocol/index.ts";
import { conversationFile } from "../store/paths.ts";
import { type Scope, workerScope } from "../store/scope.ts";
import { readRefTool } from "../tools/files.ts";
import { askHumanTool } from "../tools/human.ts";
import { mailTools } from "../tools/mail.ts";
import type { Tool, ToolOutput } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { checkpointTool, createWorkNodeTool, type NodePort, publishTool, suggestTool } from "../tools/work.ts";
import { asking } from "./asking.ts";
import { beginAssignment } from "./assignment.ts";
import { type Actor, carryOut } from "./carry-out.ts";
import { lastCursor, lastNodeIn, pastOf, wordsOn } from "./past.ts";
import { publishAnswer, publisher } from "./publishing.ts";
import { noticingRepeats } from "./repeats.ts";
import { workerStanding } from "./restate.ts";
import { newsOn, waitForMail, waitOrAsk } from "./waiting.ts";
import type { Colleagues, Workplace } from "./workplace.ts";

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
  const allowed = (tools: readonly Tool[]) =>
    [place.now().agent.created.tools, worker.spawned.tools].reduce<readonly Tool[]>(
      (left, names) => onlyThese(left, names, ["publish", "checkpoint", "read_ref"]),
      tools,
    );
  const hands = single ? [] : allowed(toolsFor(node, actor, scope, port, mailbox, team, model, place));
  const foreign = single ? () => [] : await place.foreignTools(actor, place);
  const toolbox = noticingRepeats(new Toolbox(hands, () => allowed(foreign())));
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
      onSilence: single ? publishAnswer(node, scope, port) : waitOrAsk(node, actor, mailbox, place),
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
      waitForMail(actor, openBelow(node, place.now().board).length > 0 ? "children" : "news", mailbox, place, signal),
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
 * to end one's work one always has. `mcp__SERVER` stands for all tools of a server.
 */
export function onlyThese(
  tools: readonly Tool[],
  names: readonly string[] | null | undefined,
  always: readonly string[],
): readonly Tool[] {
  if (!names) return tools;
  const servers = names.filter((name) => name.startsWith("mcp__")).map((name) => `${name}__`);
  return tools.filter(
    ({ spec: { name } }) =>
      names.includes(name) || always.includes(name) || servers.some((server) => name.startsWith(server)),
  );
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
