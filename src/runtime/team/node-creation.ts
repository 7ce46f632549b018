import { mayNeverBegin, type NodeState, type WorkerState } from "../../projections/index.ts";
import { COORDINATOR, type NewFact, type NodeId, type RunId, type WorkerId } from "../../protocol/index.ts";
import { refusal, type ToolOutput } from "../../tools/tool.ts";
import type { NewWork } from "../../tools/work.ts";
import { copyInputs, findInputs, plainRefs } from "./given-inputs.ts";
import type { TeamDirectory } from "./team-directory.ts";
import { record, type TeamPorts } from "./team-ports.ts";
import type { TeamStages } from "./team-stages.ts";
import { checkedNotBy, checkedWork } from "./work-order.ts";
import { choose } from "./worker-choice.ts";

export interface CreatingPorts {
  ports: TeamPorts;
  directory: TeamDirectory;
  stages: TeamStages;
  nextNode(): NodeId;
}

type By = { worker_id: WorkerId; node_id: NodeId | null };

/** Puts a piece of work on the board: its node, a stage if none is in progress, and its worker. */
export async function createNode(by: By, wish: NewWork, creating: CreatingPorts): Promise<Created> {
  const { ports, directory, stages } = creating;
  const { run, pending, log } = ports;
  const giver = { by, run, now: pending(), agentDir: log.dir };
  const order = { ...wish, refs: plainRefs(wish.refs, giver) };
  const found = await findInputs(order.refs, giver);
  if (!found.ok) return refused(found.reason);
  const choice = await choose(order, by, ports, directory);
  if (!choice.ok) return refused(choice.reason);
  const copied = new Set(found.inputs.map(({ name }) => name));
  const plan = () => {
    const now = pending();
    const parent = by.node_id ? now.board.nodes[by.node_id] : undefined;
    const checked = checkedWork(order, { now, run, parent, limits: ports.limits, copied });
    if (!checked.ok) return checked;
    const notBy = checkedNotBy(order, now, run);
    if (!notBy.ok) return notBy;
    const chosen = choice.pick(notBy.ids);
    if (!chosen.ok) return chosen;
    const tied = chosen.worker && directory.tiedUp(chosen.worker, parent);
    if (tied) return { ok: false as const, reason: tied };
    const stage = stages.forNewWork();
    return stage.ok ? { ok: true as const, checked, notBy: notBy.ids, chosen, stage } : stage;
  };
  const first = plan();
  if (!first.ok) return refused(first.reason);
  const node_id = creating.nextNode();
  // Copying takes a while, in which much may change: it is all decided again afterwards.
  const at = { agentDir: log.dir, run, node: node_id };
  const copies = found.inputs.length > 0 ? await copyInputs(found.inputs, found.scope, at) : undefined;
  const planned = copies ? plan() : first;
  if (!planned.ok) return refused(planned.reason);
  const { chosen, stage } = planned;
  const created = createdNode(order, by, { run, node_id, ...planned, copies });
  const facts: NewFact[] = [...stage.facts, ...chosen.facts, created];
  if (chosen.id) facts.push({ type: "node.reserved", data: { node_id, worker_id: chosen.id } });
  await record(ports, facts);
  return { node_id, ...answer(node_id, order.hold, ports) };
}

interface Planned {
  run: RunId;
  node_id: NodeId;
  stage: { number: number };
  checked: { dependencies: NodeId[]; refs: Record<string, string> };
  notBy: string[];
  copies: Awaited<ReturnType<typeof copyInputs>> | undefined;
}

function createdNode(order: NewWork, by: By, { run, node_id, stage, checked, notBy, copies }: Planned): NewFact {
  return {
    type: "node.created",
    data: {
      run_id: run,
      node_id,
      stage: stage.number,
      task: order.task,
      inference: order.inference,
      dependencies: checked.dependencies,
      refs: { ...checked.refs, ...copies?.refs },
      deliverables: order.deliverables,
      parent_node_id: by.node_id,
      created_by: by.worker_id,
      ...(order.hold && { held: true as const }),
      ...(order.checks.length > 0 && { checks: order.checks }),
      ...(order.allow_red && { allow_red: true as const }),
      ...(order.budget_usd !== undefined && { budget_usd: order.budget_usd }),
      ...(notBy.length > 0 && { not_by: notBy }),
      ...(copies && { inputs: copies.given }),
    },
  };
}

export interface Created {
  said: ToolOutput;
  node_id?: NodeId;
  /** The answer does not say who does it: nobody has begun yet. */
  isOpen?: boolean;
}

function refused(reason: string): Created {
  return { said: refusal(`Not created: ${reason}`) };
}

/** Who hands something out hears at once who got it, where that is known already. */
function answer(id: NodeId, isHeld: boolean, { pending }: TeamPorts): Omit<Created, "node_id"> {
  if (isHeld) return { said: `Created ${id}. It is held: run it with a trigger, or assign it.` };
  const { board, roster } = pending();
  const node = board.nodes[id];
  if (node && "worker_id" in node) return { said: `Created ${id}: ${nameOf(roster[node.worker_id])} has begun.` };
  const forWhom = node?.reserved_for ? ` for ${nameOf(roster[node.reserved_for])}` : "";
  return { said: `Created ${id}${forWhom}. ${whenItBegins(node, pending)}`, isOpen: true };
}

function whenItBegins(node: NodeState | undefined, pending: TeamPorts["pending"]): string {
  const { board, roster } = pending();
  const waitsFor = node?.spec.dependencies.filter((id) => board.nodes[id]?.status !== "completed") ?? [];
  if (waitsFor.length > 0) {
    const held = waitsFor.find((id) => board.nodes[id] && mayNeverBegin(board.nodes[id], board));
    const after = `It begins when ${waitsFor.join(", ")} ${waitsFor.length === 1 ? "is" : "are"} completed.`;
    return held ? `${after} ${held} is held.` : after;
  }
  const worker = node?.reserved_for ? roster[node.reserved_for] : undefined;
  return worker && worker.status !== "idle"
    ? `It begins when ${nameOf(worker)} is free (now ${worker.status}).`
    : "It begins as soon as somebody is free.";
}

function nameOf(worker: WorkerState | undefined): string {
  return worker?.spawned.name ?? COORDINATOR;
}
