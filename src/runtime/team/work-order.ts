import {
  ancestorsOf,
  type Board,
  hasEnded,
  holderOf,
  isLost,
  mayNeverBegin,
  type NodeState,
  nodeNamed,
  rosterOf,
  type Situation,
  sharesUnder,
  waitsForAny,
} from "../../projections/index.ts";
import { dict } from "../../protocol/dict.ts";
import type { NodeId, RunId } from "../../protocol/index.ts";
import type { NewWork } from "../../tools/work.ts";
import { workerIdOf } from "./worker-names.ts";

type Checked = { ok: true; dependencies: NodeId[]; refs: Record<string, string> } | Refused;
type Refused = { ok: false; reason: string };

/** Where the new work belongs. */
interface OrderContext {
  now: Situation;
  run: RunId;
  /** The node of the worker who asks; none for the coordinator. */
  parent: NodeState | undefined;
  limits: { maxDepth: number; maxChildren: number };
  /** Refs that are copied, and need no check. */
  copied: ReadonlySet<string>;
}

/** Work may only depend on existing nodes, so a new node can never be part of a cycle. */
export function checkedWork(order: NewWork, context: OrderContext): Checked {
  const { now, run, parent, limits } = context;
  const { board } = now;
  const reason =
    tooDeepOrBroad(board, parent, limits) ??
    (parent && order.hold ? "only the coordinator can run what is held. Leave hold out." : undefined) ??
    notAPath(order.deliverables) ??
    tooManyForOneReply(order) ??
    overTheShare(order.budget_usd, now, run, parent);
  if (reason !== undefined) return refused(reason);
  const waitedFor = checkedDependencies(order, context);
  if (!waitedFor.ok) return waitedFor;
  const referred = checkedRefs(order, context);
  if (!referred.ok) return referred;
  // What a ref points at exists only once that node is completed.
  const unended = [...new Set(referred.unended)].filter((id) => !waitedFor.dependencies.includes(id));
  const dependencies = [...waitedFor.dependencies, ...unended];
  const waiting = dependencies.find((id) => board.nodes[id] && mayNeverBegin(board.nodes[id], board));
  // Nobody but the coordinator can run what is held: those above would wait for it, perhaps for ever.
  if (parent && waiting !== undefined)
    return refused(`${waiting} is held until the coordinator runs it. Do it without, or suggest it.`);
  return { ok: true, dependencies, refs: referred.refs };
}

function checkedDependencies(
  { dependencies }: NewWork,
  { now: { board }, run, parent }: OrderContext,
): { ok: true; dependencies: NodeId[] } | Refused {
  const above = ancestorsOf(board, parent);
  const ids: NodeId[] = [];
  for (const id of dependencies) {
    const node = nodeNamed(board, id);
    if (node?.spec.run_id !== run) return refused(`there is no node "${id}". ${knownNodes(board, run)}`);
    if (isLost(node)) {
      const how = node.status === "failed" ? "has failed" : "was cancelled";
      return refused(`${id} ${how}, nothing can wait for it. What it left may be a ref.`);
    }
    if (waitsForAny(node, above, board)) return refused(`${id} is waiting for this very work; it cannot come first.`);
    ids.push(node.id);
  }
  return { ok: true, dependencies: ids };
}

function checkedRefs(
  order: NewWork,
  { now: { board }, run, parent, copied }: OrderContext,
): { ok: true; refs: Record<string, string>; unended: NodeId[] } | Refused {
  const above = ancestorsOf(board, parent);
  const refs = dict<string>();
  const unended: NodeId[] = [];
  for (const [name, target] of Object.entries(order.refs)) {
    if (copied.has(name)) continue;
    const [, id = "", path = ""] = /^(?:\.\/)?(?:nodes\/)?(node-\d+)\/published(?:\/+(.*))?$/.exec(target) ?? [];
    const node = nodeNamed(board, id);
    if (id && !node) return refused(`ref "${name}" is "${target}", and there is no ${id}. ${knownNodes(board, run)}`);
    if (node?.spec.run_id !== run || waitsForAny(node, above, board) || /(^|\/)\.\.(\/|$)/.test(path)) {
      return refused(
        `ref "${name}" must point at the published files of another node, e.g. node-1/published/report.md; it is "${target}".`,
      );
    }
    if (hasEnded(node) && !holds(node, path)) return refused(`ref "${name}" is "${target}", but ${publishedBy(node)}`);
    // One way to write it, whatever the order says: everybody puts `nodes/` before it.
    refs[name] = `${id}/published${path === "" ? "" : `/${path}`}`;
    if (!hasEnded(node)) unended.push(node.id);
  }
  return { ok: true, refs, unended };
}

function refused(reason: string): Refused {
  return { ok: false, reason };
}

/** The workers that must not get it, by id: the authors of the named nodes of any run, and the named people. */
export function checkedNotBy(
  { not_by }: Pick<NewWork, "not_by">,
  { board, roster }: Situation,
  run: RunId,
  /** By name: those who are hired with the same order. */
  coming: readonly string[] = [],
): { ok: true; ids: string[] } | { ok: false; reason: string } {
  const hired = new Set([...Object.keys(roster), ...coming.map(workerIdOf)]);
  const idIn = (word: string) => nodeNamed(board, word)?.id ?? (hired.has(workerIdOf(word)) ? workerIdOf(word) : null);
  const unknown = not_by.find((word) => idIn(word) === null);
  if (unknown === undefined) return { ok: true, ids: not_by.map((word) => idIn(word) ?? word) };
  const people = [...new Set([...Object.values(rosterOf(roster, run)).map(({ spawned }) => spawned.name), ...coming])];
  return {
    ok: false,
    reason: `not_by names nodes or workers, and "${unknown}" is neither. ${knownNodes(board, run)} People: ${people.join(", ")}.`,
  };
}

/** Whether a node that has ended published this file, or something in this folder. All it left may be nothing. */
function holds(node: NodeState, path: string): boolean {
  const wanted = path.replace(/\/+$/, "");
  return wanted === "" || filesOf(node).some((file) => file === wanted || file.startsWith(`${wanted}/`));
}

const MOST_NAMED = 20;

function publishedBy(node: NodeState): string {
  const files = filesOf(node);
  if (files.length === 0) return `${node.id} published nothing.`;
  const more = files.length > MOST_NAMED ? ` and ${files.length - MOST_NAMED} more` : "";
  return `${node.id} published only ${files.slice(0, MOST_NAMED).join(", ")}${more}.`;
}

function filesOf(node: NodeState): string[] {
  return "files" in node ? node.files.map((file) => file.path) : [];
}

function tooDeepOrBroad(
  board: Board,
  parent: NodeState | undefined,
  limits: { maxDepth: number; maxChildren: number },
): string | undefined {
  if (!parent) return undefined;
  if (ancestorsOf(board, parent).size >= limits.maxDepth)
    return `work is already ${limits.maxDepth} levels deep. Do it yourself.`;
  if (parent.children.length >= limits.maxChildren)
    return `${parent.id} has ${limits.maxChildren} sub-nodes already. Do the rest yourself.`;
  return undefined;
}

/** A share is reserved from what is left above it; what others have reserved there and not spent is not left. */
function overTheShare(
  wanted: number | undefined,
  now: Situation,
  run: RunId,
  parent: NodeState | undefined,
): string | undefined {
  const holder = holderOf(now.board, parent);
  const whole = holder ? holder.spec.budget_usd : now.agent.created.budget_usd;
  if (wanted === undefined || whole === undefined || whole === null) return undefined;
  const spent = holder ? holder.spent_usd : now.spending.total.cost_usd;
  const left = whole - spent - reservedIn(sharesUnder(now.board, run, holder));
  return wanted > left
    ? `$${wanted} is more than the $${Math.max(0, left).toFixed(4)} that ${holder?.id ?? "the agent"} has left.`
    : undefined;
}

function reservedIn(shares: readonly NodeState[]): number {
  return shares.reduce((sum, { spec, spent_usd }) => sum + Math.max(0, (spec.budget_usd ?? 0) - spent_usd), 0);
}

function knownNodes(board: Board, run: RunId): string {
  const known = Object.keys(board.nodes).filter((id) => nodeNamed(board, id)?.spec.run_id === run);
  return known.length > 0 ? `Choose from: ${known.slice(-20).join(", ")}.` : "The board is empty.";
}

function tooManyForOneReply({ inference, deliverables }: NewWork): string | undefined {
  return inference === "single" && deliverables.length > 1
    ? `one reply makes one file, and there are ${deliverables.length} deliverables. Leave inference out, or ask for one file.`
    : undefined;
}

export function notAPath(deliverables: readonly string[]): string | undefined {
  const prose = deliverables.find((path) => !looksLikePath(path));
  return prose === undefined
    ? undefined
    : `deliverables are file names, e.g. report.md; "${prose.slice(0, 80)}" is not one. Say the rest in the task.`;
}

function looksLikePath(text: string): boolean {
  const plain = text.length <= 200 && !/[\n\0\\]/.test(text) && !/^\/|(^|\/)\.\.(\/|$)/.test(text);
  // Words with spaces and neither an ending nor a folder are a sentence, not a name.
  return plain && (!/\s/.test(text) || /\.\w{1,8}$|\//.test(text));
}
