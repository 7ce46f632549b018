import type { NodeState, Situation } from "../../../src/projections/index.ts";
import type { RunId } from "../../../src/protocol/index.ts";
import { stageTitle } from "../text/figures.ts";

/**
 * Where every node of a run lies: a lane for each stage, side by side in the order they began, and in each lane the
 * nodes in the order they were made. So a new node comes at the end of its lane and a new stage at the right, and
 * nothing that is in sight ever moves.
 */
export interface Layout {
  lanes: Lane[];
  places: Map<string, Place>;
  edges: Edge[];
  width: number;
  height: number;
}

export interface Lane {
  key: string;
  title: string;
  status: "running" | "reconvening" | "completed" | "none";
  x: number;
  nodes: NodeState[];
}

export interface Place {
  node: NodeState;
  x: number;
  y: number;
}

export interface Edge {
  key: string;
  kind: "depends" | "part" | "ref";
  from: Place;
  to: Place;
}

export const CARD = { width: 232, height: 92 };
const GAP = { x: 72, y: 16 };
const TOP = 44;
const MARGIN = 24;

export function layoutOf({ board, stages }: Pick<Situation, "board" | "stages">, run: RunId): Layout {
  const lanes = new Map<string, Lane>();
  const laneAt = (key: string, title: string, status: Lane["status"]): Lane => {
    const known = lanes.get(key);
    if (known) return known;
    const lane = { key, title, status, x: MARGIN + lanes.size * (CARD.width + GAP.x), nodes: [] };
    lanes.set(key, lane);
    return lane;
  };
  const places = new Map<string, Place>();
  for (const node of Object.values(board.nodes)) {
    if (node.spec.run_id !== run) continue;
    const stage = stages.find((each) => each.run_id === run && each.number === node.spec.stage);
    const title = stage ? stageTitle(stage.number, stage.name) : "Work";
    const lane = laneAt(stage ? String(stage.number) : "none", title, stage?.status ?? "none");
    places.set(node.id, { node, x: lane.x, y: TOP + lane.nodes.length * (CARD.height + GAP.y) });
    lane.nodes.push(node);
  }
  for (const stage of stages)
    if (stage.run_id === run) laneAt(String(stage.number), stageTitle(stage.number, stage.name), stage.status);
  const all = [...lanes.values()];
  const longest = Math.max(1, ...all.map(({ nodes }) => nodes.length));
  return {
    lanes: all,
    places,
    edges: edgesOf(places),
    width: MARGIN + all.length * (CARD.width + GAP.x),
    height: TOP + longest * (CARD.height + GAP.y) + MARGIN,
  };
}

function edgesOf(places: ReadonlyMap<string, Place>): Edge[] {
  const edges: Edge[] = [];
  const add = (kind: Edge["kind"], from: string, to: Place) => {
    const source = places.get(from);
    if (source && source !== to) edges.push({ key: `${kind} ${from} ${to.node.id}`, kind, from: source, to });
  };
  for (const place of places.values()) {
    const { dependencies, parent_node_id, refs } = place.node.spec;
    for (const id of dependencies) add("depends", id, place);
    if (parent_node_id) add("part", parent_node_id, place);
    for (const id of referred(refs)) if (!dependencies.some((each) => each === id)) add("ref", id, place);
  }
  return edges;
}

/** The nodes whose files are referred to. */
function referred(refs: Readonly<Record<string, string>>): Set<string> {
  return new Set(Object.values(refs).flatMap((path) => /node-\d+/.exec(path)?.[0] ?? []));
}

/** A curve from one card to the other: across lanes from side to side, within a lane around the left. */
export function pathOf({ from, to }: Edge): string {
  const [fromY, toY] = [from.y + CARD.height / 2, to.y + CARD.height / 2];
  if (from.x === to.x) {
    const [x, out] = [from.x, Math.min(20, 8 + Math.abs(toY - fromY) / 40)];
    return `M${x} ${fromY}C${x - out} ${fromY} ${x - out} ${toY} ${x} ${toY}`;
  }
  const isOnward = to.x > from.x;
  const [x1, x2] = isOnward ? [from.x + CARD.width, to.x] : [from.x, to.x + CARD.width];
  const bend = ((x2 - x1) * 2) / 3;
  return `M${x1} ${fromY}C${x1 + bend} ${fromY} ${x2 - bend} ${toY} ${x2} ${toY}`;
}

/** Where an arrow key leads from a node: up and down in its lane, left and right along its edges. */
export function neighbourOf(layout: Layout, id: string, key: string): string | undefined {
  const here = layout.places.get(id);
  if (!here) return undefined;
  const lane = layout.lanes.find(({ x }) => x === here.x)?.nodes ?? [];
  const index = lane.findIndex((node) => node.id === id);
  switch (key) {
    case "ArrowUp":
      return lane[index - 1]?.id;
    case "ArrowDown":
      return lane[index + 1]?.id;
    case "ArrowRight":
      return layout.edges.find(({ from }) => from.node.id === id)?.to.node.id;
    case "ArrowLeft":
      return layout.edges.find(({ to }) => to.node.id === id)?.from.node.id;
    default:
      return undefined;
  }
}
