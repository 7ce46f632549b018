import { dict } from "../protocol/dict.ts";
import type { Fact, FactOf, FactType, NodeId, PublishedCommit } from "../protocol/index.ts";

/** Of one check of a node: how it ended the last time. */
export interface CheckState extends Omit<FactOf<"check.finished">["data"], "node_id"> {
  ts: number;
}

export interface LineComment extends Omit<FactOf<"review.commented">["data"], "node_id"> {
  seq: number;
  ts: number;
  /** The first commit since then of the node, or of the one that answers its comments. */
  answered_by: string | null;
}

/** A publish that did not reach the branch. */
export interface MergeRefusal extends Omit<FactOf<"merge.refused">["data"], "node_id" | "worker_id"> {
  seq: number;
}

export interface NodeInRepository {
  /** Where its clone began. */
  clone_at: string;
  state: "working" | "refused" | "merged" | "reverted";
  /** What it published last, if it changed anything. */
  commit: PublishedCommit | null;
  /** Since its work was last merged, the oldest first. */
  refusals: MergeRefusal[];
  /** By command, the latest of each. */
  checks: Record<string, CheckState>;
  comments: LineComment[];
  /** The newest node that answers the comments. */
  answers?: NodeId;
  rejected: string | null;
  snapshots: { ref: string; commit: string }[];
}

export type BranchDelivery = FactOf<"branch.delivered">["data"] & { seq: number; ts: number };

/** The repository of an agent that writes. What is in it is read from git. */
export interface RepositoryState extends Omit<FactOf<"repository.opened">["data"], "skipped"> {
  /** The branch, as it is after every fact so far; in git it follows. */
  tip: string;
  /** The person's newest commit that the branch has taken in. */
  upstream: string;
  /** Checks of the tip, where it is not the work of a node. */
  checks?: NonNullable<FactOf<"branch.moved">["data"]["checks"]>;
  nodes: Record<NodeId, NodeInRepository>;
  deliveries: BranchDelivery[];
  skipped: string[];
}

/** The newest deliveries are kept; all are in the log. */
const MOST_DELIVERIES = 50;
const MOST_COMMENTS = 200;
const MOST_REFUSALS = 20;

/** Undefined for an agent that only reads. */
export function applyToRepository(now: RepositoryState | undefined, fact: Fact): RepositoryState | undefined {
  if (fact.type === "repository.opened") {
    const { base } = fact.data;
    return now ?? { ...fact.data, tip: base, upstream: base, nodes: dict(), deliveries: [] };
  }
  if (now) (FOLDS[fact.type] as ((now: RepositoryState, fact: Fact) => void) | undefined)?.(now, fact);
  return now;
}

const FOLDS: { [T in FactType]?: (now: RepositoryState, fact: FactOf<T>) => void } = {
  "node.created": (now, { data }) => {
    if (data.answers !== undefined) nodeIn(now, data.answers).answers = data.node_id;
  },
  "node.cloned": (now, { data }) => {
    nodeIn(now, data.node_id).clone_at = data.commit;
  },
  "node.published": (now, { data }) => {
    if (data.partial) return;
    if (data.commit) published(now, data.node_id, data.commit);
    else publishedWithoutChange(now.nodes[data.node_id]);
  },
  "branch.moved": moved,
  "branch.delivered": (now, { data, seq, ts }) => {
    now.deliveries = [...now.deliveries, { ...data, seq, ts }].slice(-MOST_DELIVERIES);
  },
  "check.finished": (now, { data: { node_id, ...check }, ts }) => {
    nodeIn(now, node_id).checks[check.command] = { ...check, ts };
  },
  "merge.refused": (now, { data: { node_id, worker_id: _, ...refused }, seq }) => {
    const node = nodeIn(now, node_id);
    node.refusals = [...node.refusals, { ...refused, seq }].slice(-MOST_REFUSALS);
    node.state = "refused";
  },
  "review.commented": (now, { data: { node_id, ...comment }, seq, ts }) => {
    const node = nodeIn(now, node_id);
    node.comments = [...node.comments, { ...comment, seq, ts, answered_by: null }].slice(-MOST_COMMENTS);
  },
  "review.rejected": (now, { data }) => {
    nodeIn(now, data.node_id).rejected = data.why;
  },
  "snapshot.kept": (now, { data: { node_id, ref, commit } }) => {
    nodeIn(now, node_id).snapshots.push({ ref, commit });
  },
};

function moved(now: RepositoryState, { data }: FactOf<"branch.moved">): void {
  now.tip = data.to;
  now.checks = data.checks ?? [];
  if (data.upstream !== undefined) now.upstream = data.upstream;
  if (data.why === "revert" && data.node_id !== undefined) nodeIn(now, data.node_id).state = "reverted";
}

function published(now: RepositoryState, id: NodeId, commit: PublishedCommit): void {
  const node = nodeIn(now, id);
  Object.assign(node, { commit, state: "merged", refusals: [], rejected: null });
  for (const about of [node, ...Object.values(now.nodes).filter(({ answers }) => answers === id)])
    for (const comment of about.comments) comment.answered_by ??= commit.commit;
}

/** What was refused is not offered any more: its worker gave it up, or others had done the same. */
function publishedWithoutChange(node: NodeInRepository | undefined): void {
  if (node?.state !== "refused") return;
  node.refusals = [];
  node.state = node.rejected !== null ? "reverted" : node.commit ? "merged" : "working";
}

function nodeIn(now: RepositoryState, id: NodeId): NodeInRepository {
  now.nodes[id] ??= {
    ...{ clone_at: now.tip, state: "working", commit: null, refusals: [], rejected: null },
    ...{ checks: dict(), comments: [], snapshots: [] },
  };
  return now.nodes[id];
}

/** How the checks of the branch ended, as it is now. */
export function checksOfBranch({ tip, nodes, checks = [] }: RepositoryState): Omit<CheckState, "ts" | "of">[] {
  const ofNodes = Object.values(nodes).flatMap((node) => Object.values(node.checks));
  return [
    ...checks.map((check) => ({ ...check, commit: tip })),
    ...ofNodes.filter(({ commit }) => commit === tip).map(({ ts: _, of: __, ...check }) => check),
  ];
}

/** The branch in a few lines, for those who lead. */
export function describeBranch({ branch, tip, base, nodes }: RepositoryState): string {
  const merged = Object.values(nodes).filter(({ state }) => state === "merged").length;
  const head = tip === base ? "nothing yet" : `the work of ${merged} node${merged === 1 ? "" : "s"}`;
  const lines = Object.entries(nodes).flatMap(([id, node]) => standingOf(id, node));
  return [`The branch ${branch} has ${head} (${tip.slice(0, 10)}).`, ...lines].join("\n");
}

function standingOf(id: string, { state, refusals, checks }: NodeInRepository): string[] {
  const last = refusals.at(-1);
  if (state === "reverted") return [`${id}: taken out again`];
  if (state === "refused" && last)
    return [
      `${id}: ${last.why === "conflict" ? `conflicts in ${last.files.join(", ")}` : "its checks fail"} (${refusals.length} ${refusals.length === 1 ? "time" : "times"})`,
    ];
  const red = Object.values(checks).filter(({ ok }) => !ok);
  return red.length > 0 ? [`${id}: red: ${red.map(({ command }) => command).join(", ")}`] : [];
}
