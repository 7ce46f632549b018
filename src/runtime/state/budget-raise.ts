import { type Board, isLost, type NodeState, type Situation } from "../../projections/index.ts";
import { COORDINATOR, type NewFact, type NodeId, type RunId } from "../../protocol/index.ts";

/** The person can fix this with a larger budget. */
export class TooLittleMoney extends Error {
  override readonly name = "TooLittleMoney";
}

/** Why no model could be called if the agent continued with these budgets, or null. */
export function whyTooLittle(
  { agent, spending }: Situation,
  allowed: { budget_usd?: number | undefined; budget_tokens?: number | undefined },
  why: "resumed" | "recovered" | "new_goal",
): string | null {
  const { cost_usd, usage } = spending.total;
  const { budget_usd, budget_tokens } = agent.created;
  const money = { budget: allowed.budget_usd ?? budget_usd, spent: cost_usd, isNew: allowed.budget_usd !== undefined };
  const tokens = {
    budget: allowed.budget_tokens ?? budget_tokens ?? null,
    spent: usage.input + usage.output,
    isNew: allowed.budget_tokens !== undefined,
  };
  return (
    tooLittle(money, (usd) => `$${usd}`, `$${cost_usd.toFixed(4)}`, "--budget", why) ??
    tooLittle(tokens, (count) => `${count} tokens`, `${tokens.spent} tokens`, "--budget-tokens", why)
  );
}

function tooLittle(
  { budget, spent, isNew }: { budget: number | null; spent: number; isNew: boolean },
  inWords: (amount: number) => string,
  used: string,
  flag: string,
  why: "resumed" | "recovered" | "new_goal",
): string | null {
  if (budget === null || spent < budget) return null;
  const isAre = flag === "--budget" ? "is" : "are";
  if (isNew)
    return `A budget of ${inWords(budget)} is too low: ${used} ${isAre} already spent. A budget is the limit for everything, from the beginning.`;
  // Killed while it was ending for want of money: it ends now, and its workers publish what they have.
  if (why === "recovered") return null;
  return `The budget of ${inWords(budget)} is used up: ${used} ${isAre} spent. Continue with more: ${flag} ${flag === "--budget" ? "USD" : "N"}.`;
}

/** A budget can only be enforced if all prices are known: checked before anything continues. */
export async function checkPricesToGoOn(
  { agent, roster }: Situation,
  budget_usd: number | undefined,
  checkPrices: (...models: string[]) => Promise<void>,
): Promise<void> {
  if ((budget_usd ?? agent.created.budget_usd) === null) return;
  // A program says itself what it has cost; a person costs nothing.
  const staying = Object.values(roster).filter(
    ({ status, spawned: { kind } }) => status !== "retired" && kind === "harnessed",
  );
  const models = [agent.created.model, agent.created.worker_model, ...staying.map(({ spawned }) => spawned.model)];
  await checkPrices(...new Set(models));
}

/**
 * Reopens nodes that ended only because the money ran out, and those that were given up with them.
 *
 * RAISE-1. A worker that had begun a node continues with it, with its conversation and files; nothing is done twice.
 * RAISE-2. A node that used up its own share, or that of a node above it, stays as it is: a larger budget is not a
 *     larger share.
 * RAISE-3. Work that was given up is reopened only if nothing it depends on is lost: otherwise it would wait for ever.
 */
export function reopenings(
  { board, roster, agent, spending }: Situation,
  run: RunId,
  { budget_tokens = agent.created.budget_tokens }: { budget_tokens?: number },
): NewFact[] {
  const { input, output } = spending.total.usage;
  if (budget_tokens !== undefined && input + output >= budget_tokens) return [];
  const again = new Set<NodeId>();
  // In the order they were made: what a node builds on is older than the node.
  for (const node of Object.values(board.nodes)) {
    if (node.spec.run_id !== run) continue;
    if ((ranOut(node) && hasShareLeft(node, board)) || comesBack(node, board, again)) again.add(node.id);
  }
  return [...again].map((node_id) => {
    const node = board.nodes[node_id];
    const begun = node && "worker_id" in node && node.spent_usd > 0 && node.worker_id !== COORDINATOR;
    const last = begun ? node.worker_id : (node?.reserved_for ?? null);
    // A worker that was let go takes up nothing any more.
    const isHere = last !== null && roster[last] !== undefined && roster[last].status !== "retired";
    return { type: "node.reopened", data: { node_id, reserved_for: isHere ? last : null } };
  });
}

export function isAmong(id: NodeId, facts: readonly NewFact[]): boolean {
  return facts.some((fact) => fact.type === "node.reopened" && fact.data.node_id === id);
}

function ranOut(node: NodeState): boolean {
  if (node.status === "failed") return node.outcome.kind === "budget_exhausted";
  // Cut off while it published what it had.
  return node.status === "publishing" && node.partial?.kind === "budget_exhausted";
}

function hasShareLeft(node: NodeState, board: Board): boolean {
  for (let each: NodeState | undefined = node; each; ) {
    const { budget_usd, parent_node_id }: NodeState["spec"] = each.spec;
    if (budget_usd !== undefined && each.spent_usd >= budget_usd) return false;
    each = parent_node_id ? board.nodes[parent_node_id] : undefined;
  }
  return true;
}

/** What was given up because these failed, and depends on nothing else that is lost. */
export function givenUpWith(board: Board, run: RunId, ids: readonly NodeId[]): NodeId[] {
  const again = new Set(ids);
  for (const node of Object.values(board.nodes))
    if (node.spec.run_id === run && comesBack(node, board, again)) again.add(node.id);
  return [...again].slice(ids.length);
}

function comesBack(node: NodeState, board: Board, again: ReadonlySet<NodeId>): boolean {
  if (node.status !== "failed" || node.outcome.kind !== "abandoned" || node.worker_id !== COORDINATOR) return false;
  const { dependencies } = node.spec;
  const staysLost = (id: NodeId) => isLost(board.nodes[id]) && !again.has(id);
  return dependencies.some((id) => again.has(id)) && !dependencies.some(staysLost);
}
