import { COORDINATOR, type Fact, type FactOf, type NodeId } from "../../src/protocol/index.ts";
import type { History } from "./simulate.ts";

type Status = "pending" | "assigned" | "running" | "publishing" | "completed" | "failed" | "cancelled";

interface Node {
  id: NodeId;
  status: Status;
  worker: string;
  spec: FactOf<"node.created">["data"];
  reservedFor: string | undefined;
  retries: number;
  held: boolean;
}

/** Which states a fact may find a node in, and which one it leaves it in. */
const MOVES: Partial<Record<Fact["type"], { from: Status[]; to: Status }>> = {
  "node.reserved": { from: ["pending"], to: "pending" },
  "node.released": { from: ["pending"], to: "pending" },
  "node.assigned": { from: ["pending"], to: "assigned" },
  "node.started": { from: ["assigned"], to: "running" },
  "node.retried": { from: ["running", "publishing"], to: "assigned" },
  "node.published": { from: ["running"], to: "publishing" },
  "node.completed": { from: ["publishing"], to: "completed" },
  "node.failed": { from: ["pending", "assigned", "running", "publishing"], to: "failed" },
  "node.cancelled": { from: ["pending", "assigned", "running", "publishing", "failed"], to: "cancelled" },
  "node.reopened": { from: ["failed", "publishing"], to: "pending" },
};
const ENDED: readonly Status[] = ["completed", "failed", "cancelled"];
/** One that somebody has may change hands. */
const HANDED: { from: Status[]; to: Status } = { from: ["failed", "cancelled", "assigned", "running"], to: "pending" };

/** TEAM-2 and TEAM-3, by an account of our own. */
export function nodeProblems(history: History): string[] {
  const account = new Account();
  for (const fact of history.facts) account.take(fact);
  return [...account.problems, ...account.atTheEnd(history)];
}

class Account {
  readonly problems: string[] = [];
  readonly #nodes = new Map<NodeId, Node>();
  readonly #workers = new Map<string, { run: string; on: NodeId | undefined; retired: boolean }>();
  readonly #ended = new Set<string>();
  #run = "";

  take(fact: Fact): void {
    if (fact.type === "run.finished") this.#ended.add(fact.data.run_id);
    if (fact.type === "run.started") this.#run = fact.data.run_id;
    if (fact.type === "agent.stopped" && this.#ended.has(this.#run))
      this.problems.push(`TEAM-2: fact ${fact.seq}: stopped after ${this.#run} had ended`);
    if (fact.type === "worker.spawned")
      this.#workers.set(fact.data.worker_id, { run: fact.data.run_id, on: undefined, retired: false });
    if (fact.type === "worker.retired") this.#retire(fact);
    if (fact.type === "worker.idle") this.#idle(fact);
    if (fact.type === "node.created") this.#create(fact);
    else if (fact.type.startsWith("node.")) this.#move(fact);
  }

  atTheEnd({ facts, now }: History): string[] {
    const problems: string[] = [];
    for (const node of this.#nodes.values()) {
      const product = now.board.nodes[node.id]?.status;
      if (product !== node.status) problems.push(`TEAM-2: ${node.id} is ${node.status}, the board says ${product}`);
      const open = !ENDED.includes(node.status);
      if (open && this.#ended.has(node.spec.run_id))
        problems.push(`TEAM-2: ${node.spec.run_id} has ended and ${node.id} is still ${node.status}`);
    }
    const ends = facts.filter((fact) => fact.type === "run.finished").map((fact) => fact.data.run_id);
    if (new Set(ends).size !== ends.length) problems.push(`TEAM-2: runs ended more than once: ${ends}`);
    return problems;
  }

  #create({ seq, data }: FactOf<"node.created">): void {
    const id: NodeId = `node-${this.#nodes.size + 1}`;
    if (data.node_id !== id) this.problems.push(`TEAM-2: fact ${seq} makes ${data.node_id}, the next is ${id}`);
    for (const other of [...data.dependencies, ...(data.parent_node_id ? [data.parent_node_id] : [])])
      if (!this.#nodes.has(other)) this.problems.push(`TEAM-2: ${data.node_id} builds on ${other}, which is not there`);
    if (this.#ended.has(data.run_id)) this.problems.push(`TEAM-2: ${data.node_id} was made after its run had ended`);
    const rest = { worker: "", reservedFor: undefined, retries: 0, held: data.held === true };
    this.#nodes.set(data.node_id, { id: data.node_id, status: "pending", spec: data, ...rest });
  }

  #move(fact: Fact): void {
    const isHanded = fact.type === "node.reopened" && fact.data.why === "reassigned";
    const move = isHanded ? HANDED : MOVES[fact.type];
    if (!move || !("node_id" in fact.data) || !fact.data.node_id) return;
    const node = this.#nodes.get(fact.data.node_id);
    const where = `fact ${fact.seq}, ${fact.type} of ${fact.data.node_id}`;
    if (!node) {
      this.problems.push(`TEAM-2: ${where}: there is no such node`);
      return;
    }
    if (!move.from.includes(node.status)) this.problems.push(`TEAM-2: ${where}: it is ${node.status}`);
    const worker = "worker_id" in fact.data ? fact.data.worker_id : "";
    if (fact.type === "node.released") node.held = false;
    if (fact.type === "node.released") return;
    if (fact.type === "node.reserved") node.reservedFor = worker;
    else if (fact.type === "node.reopened") {
      node.reservedFor = fact.data.reserved_for ?? undefined;
      const had = this.#workers.get(node.worker);
      if (isHanded && had?.on === node.id) had.on = undefined;
      if (isHanded) node.retries = 0;
      node.worker = "";
    } else if (fact.type === "node.assigned") this.#assign(node, worker, where);
    // Whoever had it need not have a word in it.
    else if (fact.type === "node.cancelled") node.status = "cancelled";
    else if (node.worker && worker !== node.worker)
      this.problems.push(`TEAM-3: ${where}: by ${worker}, it is ${node.worker}'s`);
    else if (!node.worker && worker !== COORDINATOR)
      this.problems.push(`TEAM-3: ${where}: by ${worker}, it is nobody's`);
    if (fact.type === "node.retried" && ++node.retries > 1) this.problems.push(`TEAM-2: ${where}: a second retry`);
    node.status = move.to;
  }

  #assign(node: Node, worker: string, where: string): void {
    const who = this.#workers.get(worker);
    if (!who || who.run !== node.spec.run_id) this.problems.push(`TEAM-3: ${where}: ${worker} is not of its run`);
    if (who?.retired) this.problems.push(`TEAM-3: ${where}: ${worker} is retired`);
    if (who?.on) this.problems.push(`TEAM-3: ${where}: ${worker} is on ${who.on}`);
    if (node.held) this.problems.push(`TEAM-3: ${where}: it is held`);
    if (node.reservedFor && node.reservedFor !== worker)
      this.problems.push(`TEAM-3: ${where}: it is for ${node.reservedFor}`);
    for (const id of node.spec.dependencies) {
      const status = this.#nodes.get(id)?.status;
      if (status !== "completed") this.problems.push(`TEAM-3: ${where}: it builds on ${id}, which is ${status}`);
    }
    node.worker = worker;
    if (who) who.on = node.id;
  }

  #retire({ data: { worker_id } }: FactOf<"worker.retired">): void {
    const who = this.#workers.get(worker_id);
    if (who) who.retired = true;
  }

  #idle({ seq, data: { worker_id } }: FactOf<"worker.idle">): void {
    const who = this.#workers.get(worker_id);
    const node = who?.on && this.#nodes.get(who.on);
    if (node && !ENDED.includes(node.status))
      this.problems.push(`TEAM-3: fact ${seq}: ${worker_id} is idle and ${node.id} is ${node.status}`);
    if (who) who.on = undefined;
  }
}
