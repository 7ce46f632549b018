import type { Fact } from "../protocol/index.ts";
import { COORDINATOR } from "../protocol/index.ts";
import type { LookArea } from "./tree-look.ts";

/** Where the files of a fact are. */
export interface FactAreas {
  /** Looked at, and what is small goes along with the fact. */
  looked: LookArea[];
  /** The fact names files here: every one of them is in the engine before it. */
  named: LookArea[];
}

/** Which run a node is of, and which one is under way; undefined before the first. */
export interface Runs {
  ofNode(node: string): string | undefined;
  current(): string | undefined;
}

const EVERYTHING: LookArea = { path: "", depth: "all" };
const REPOSITORY: LookArea = { path: "repo.git", depth: "all" };
/** Files at the top, and what an agent keeps of its own. */
const OWN: LookArea[] = [
  { path: "", depth: "files" },
  { path: "memory", depth: "all" },
];

/**
 * Where to look when these facts are recorded: not at the whole tree at each turn.
 *
 * AREAS-1. What a fact names is among `named`: what is published, the repository it was merged into, a run's results.
 */
export function areasOf(facts: readonly Fact[], runs: Runs): FactAreas {
  const looked = new Map<string, LookArea>();
  const named = new Map<string, LookArea>();
  for (const fact of facts) {
    for (const area of lookedFor(fact, runs)) looked.set(`${area.path} ${area.depth}`, area);
    for (const area of namedIn(fact, runs)) named.set(`${area.path} ${area.depth}`, area);
  }
  return { looked: [...looked.values()], named: [...named.values()] };
}

/** Where the worker that acts in this fact works: the same for as long as its task lasts. */
export function workAreas(worker: string | undefined, node: string | undefined, runs: Runs): LookArea[] {
  const run = node === undefined ? runs.current() : (runs.ofNode(node) ?? runs.current());
  if (run === undefined) return [...OWN];
  const at = `runs/${run}`;
  const ofWorker: LookArea[] =
    worker === undefined
      ? []
      : [
          { path: `${at}/workers/${worker}`, depth: "all" },
          { path: `.programs/${run}/${worker}`, depth: "all" },
        ];
  if (node !== undefined) return [{ path: `${at}/nodes/${node}`, depth: "all" }, ...ofWorker];
  if (worker !== undefined && worker !== COORDINATOR) return ofWorker;
  const lead: LookArea[] = [
    { path: at, depth: "files" },
    { path: `${at}/output`, depth: "all" },
    { path: "scratch", depth: "all" },
  ];
  return [...OWN, ...lead, ...ofWorker];
}

function lookedFor(fact: Fact, runs: Runs): LookArea[] {
  switch (fact.type) {
    case "agent.created":
    case "agent.started":
    case "goal.set":
    case "memory.written":
    case "memory.compacted":
    case "insight.accepted":
      return OWN;
    case "agent.paused":
    case "agent.stopped":
    case "agent.completed":
    case "agent.failed":
    case "agent.archived":
    case "run.finished":
      return [EVERYTHING];
    case "stage.completed":
    case "run.started":
      return workAreas(COORDINATOR, undefined, runs);
    case "tool.result":
    case "worker.idle":
    case "worker.stopped":
    case "worker.checkpointed":
    case "process.exited":
    case "node.completed":
    case "node.failed":
    case "node.retried":
    case "node.cancelled":
      return workAreas(...actsIn(fact), runs);
    default:
      return [];
  }
}

function namedIn(fact: Fact, runs: Runs): LookArea[] {
  switch (fact.type) {
    case "node.published":
      return [...workAreas(undefined, fact.data.node_id, runs), REPOSITORY];
    case "repository.opened":
    case "branch.moved":
    case "branch.delivered":
    case "snapshot.kept":
      return [REPOSITORY];
    case "run.finished":
      return workAreas(COORDINATOR, undefined, runs);
    default:
      return [];
  }
}

/** Who acts in a fact, and on which node. */
export function actsIn({ data }: Fact): [worker: string | undefined, node: string | undefined] {
  const worker = "worker_id" in data && typeof data.worker_id === "string" ? data.worker_id : undefined;
  const node = "node_id" in data && typeof data.node_id === "string" ? data.node_id : undefined;
  return [worker, node];
}
