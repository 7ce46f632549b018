import { isUnderWay, type NodeState, type Situation } from "../../projections/index.ts";
import { COORDINATOR } from "../../protocol/ids.ts";
import type { NodeId } from "../../protocol/index.ts";
import type { Activity } from "../wording/activity.ts";
import { amount, costOf, count, elapsedTime, type Spent, spentIn, spentSince } from "../wording/format.ts";
import { displayName } from "../wording/names.ts";
import { nodeTree, type TreeRow, whyWaiting } from "../wording/node-tree.ts";
import type { Paint } from "../wording/paint.ts";
import { isTold, stageHeadline } from "../wording/stage-title.ts";
import { cutToWidth, headline, pad, plain, widthOf } from "../wording/width.ts";

export interface TreeView {
  now: Situation;
  activity: Activity;
  /** Seconds since this process began to look on. */
  seconds: number;
  /** What the agent had spent by then. */
  before?: Spent | undefined;
  columns: number;
  lines: number;
  paint: Paint;
}

/** The team at a glance: the cost so far, the coordinator, and below it the tree of work as it grows. */
export function statusTree({ now, activity, seconds, before, columns, lines, paint }: TreeView): string[] {
  const nodes = Object.values(now.board.nodes).filter((node) => node.spec.run_id === now.agent.run?.id);
  const room = Math.max(0, lines - 2);
  const shown = nodes.length <= room ? nodes : mostTelling(nodes, room - 1);
  const hidden = nodes.length - shown.length;
  const parentOf = (id: NodeId) => now.board.nodes[id]?.spec.parent_node_id ?? null;
  const branches = nodeTree(shown, parentOf, "stemmed").map(({ node, stem }) =>
    hidden > 0 ? { node, stem: stem.replace(/^└/, "├").replace(/^ /, "│") } : { node, stem },
  );
  const rows = [
    [paint.bold(cutToWidth(headOf(now, nodes, seconds, before), columns))],
    [paint.yellow("★"), cutToWidth(` ${withActivity("coordinator", activity.get(COORDINATOR))}`, columns - 1)],
    ...branches.map((branch) => rowOf(branch, now, activity, columns, paint)),
  ];
  if (hidden > 0 && room > 0) {
    const seen = new Set(shown);
    rows.push([paint.dim(cutToWidth(`└ ${summaryOf(nodes.filter((node) => !seen.has(node)))}`, columns))]);
  }
  return rows.slice(0, lines).map((row) => row.join(""));
}

function headOf(now: Situation, nodes: NodeState[], seconds: number, before: Spent | undefined): string {
  const { calls, tokens, inAll, ...cost } = spentSince(before, spentIn(now.spending.total));
  const done = nodes.filter((node) => node.status === "completed").length;
  const parts = [
    now.agent.created.name,
    ...stagePart(now),
    ...(nodes.length > 0 ? [`${done}/${count(nodes.length, "node")}`] : []),
    count(calls, "call"),
    ...(tokens > 0 ? [`${amount(tokens)} tokens`] : []),
    costOf(cost),
    elapsedTime(seconds) + inAll,
  ];
  return plain(parts.join(" · "));
}

/** Which stage it is, once there is something to tell apart. */
function stagePart({ stages, agent: { run } }: Situation): string[] {
  const stage = stages.findLast((each) => each.run_id === run?.id);
  return stage && isTold(stage) ? [stageHeadline(stage).replace("Stage", "stage")] : [];
}

function rowOf({ node, stem }: TreeRow, now: Situation, activity: Activity, columns: number, paint: Paint): string[] {
  const { mark, colour } = LOOKS[node.status];
  const name = pad(node.id, 7);
  const room = columns - widthOf(`${stem}${mark} ${name} `);
  if (room < 8) return [cutToWidth(`${stem}${mark} ${node.id}`, columns)];
  const aside = plain(asideOf(node, now, activity));
  // The task is what a reader knows the node by; it keeps at least a half of the line.
  const task = cutToWidth(headline(node.spec.task), Math.max(Math.floor(room / 2), room - widthOf(aside) - 3));
  const rest = aside === "" ? "" : cutToWidth(` — ${aside}`, room - widthOf(task));
  return [`${paint.dim(stem)}${paint[colour](mark)} ${name} ${task}`, paint.dim(rest)];
}

/** Who is on it and what they do, or why nobody is. */
function asideOf(node: NodeState, { board, roster }: Situation, activity: Activity): string {
  if (!("worker_id" in node)) {
    const isDone = (id: NodeId) => board.nodes[id]?.status === "completed";
    return whyWaiting(node, isDone, (id) => displayName(roster, id));
  }
  return withActivity(displayName(roster, node.worker_id), isUnderWay(node) ? activity.get(node.worker_id) : undefined);
}

const LOOKS = {
  pending: { mark: "·", colour: "dim" },
  assigned: { mark: "▹", colour: "blue" },
  running: { mark: "▸", colour: "blue" },
  publishing: { mark: "▸", colour: "blue" },
  completed: { mark: "✓", colour: "green" },
  failed: { mark: "✗", colour: "red" },
  cancelled: { mark: "⊘", colour: "dim" },
} as const;

function withActivity(name: string, doing: string | undefined): string {
  return doing ? `${name}: ${doing}` : name;
}

/** When not all fit: work under way, then what failed, what waits, and the newest of what is done; in board order. */
function mostTelling(nodes: NodeState[], room: number): NodeState[] {
  const rank = (node: NodeState) =>
    isUnderWay(node) ? 0 : node.status === "failed" ? 1 : node.status === "pending" ? 2 : 3;
  const place = new Map(nodes.map((node, i) => [node, rank(node) === 3 ? -i : i]));
  const ranked = [...nodes].sort((a, b) => rank(a) - rank(b) || (place.get(a) ?? 0) - (place.get(b) ?? 0));
  const chosen = new Set(ranked.slice(0, Math.max(0, room)));
  return nodes.filter((node) => chosen.has(node));
}

function summaryOf(hidden: NodeState[]): string {
  const tally = new Map<string, number>();
  for (const node of hidden) {
    const word = isUnderWay(node) ? "under way" : node.status;
    tally.set(word, (tally.get(word) ?? 0) + 1);
  }
  return `… and ${count(hidden.length, "node")} more: ${[...tally].map(([word, number]) => `${number} ${word}`).join(", ")}`;
}
