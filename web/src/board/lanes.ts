import type { NodeState, Situation, Stage } from "../../../src/projections/index.ts";
import type { RunId } from "../../../src/protocol/index.ts";
import { stageTitle } from "../text/figures.ts";

/**
 * The position of every node of a run: a lane for each stage, side by side in the order they began; within a lane a
 * column for each step of the dependencies, and in each column the nodes in the order of creation. So a new node is
 * added at the end of its column and a new stage at the right, and what is visible stays where it is.
 */
export interface BoardLayout {
  lanes: Lane[];
  places: Map<string, PlacedNode>;
  edges: Edge[];
  width: number;
  height: number;
}

export interface Lane {
  key: string;
  title: string;
  status: "running" | "reconvening" | "completed" | "none";
  x: number;
  width: number;
  nodes: NodeState[];
}

export interface PlacedNode {
  node: NodeState;
  x: number;
  y: number;
}

export interface Edge {
  key: string;
  kind: "depends" | "part" | "ref";
  from: PlacedNode;
  to: PlacedNode;
}

export const CARD = { width: 232, height: 92 };
const GAP = { x: 72, y: 16 };
const TOP = 44;
const MARGIN = 24;

const STEP = CARD.width + GAP.x;

export function boardLayoutOf({ board, stages }: Pick<Situation, "board" | "stages">, run: RunId): BoardLayout {
  const lanes = new Map<string, Lane & { columns: NodeState[][] }>();
  const steps = new Map<string, { lane: string; step: number }>();
  const laneOf = (stage: Stage | undefined) => {
    const key = stage ? String(stage.number) : "none";
    const title = stage ? stageTitle(stage.number, stage.name) : "Work";
    const lane = lanes.get(key) ?? {
      key,
      title,
      status: stage?.status ?? "none",
      x: 0,
      width: 0,
      nodes: [],
      columns: [],
    };
    lanes.set(key, lane);
    return lane;
  };
  for (const node of Object.values(board.nodes)) {
    if (node.spec.run_id !== run) continue;
    const lane = laneOf(stages.find((each) => each.run_id === run && each.number === node.spec.stage));
    let step = 0;
    for (const id of [...node.spec.dependencies, node.spec.parent_node_id]) {
      const before = steps.get(id ?? "");
      if (before?.lane === lane.key) step = Math.max(step, before.step + 1);
    }
    steps.set(node.id, { lane: lane.key, step });
    lane.nodes.push(node);
    while (lane.columns.length <= step) lane.columns.push([]);
    lane.columns[step]?.push(node);
  }
  for (const stage of stages) if (stage.run_id === run) laneOf(stage);
  const places = new Map<string, PlacedNode>();
  let [x, longest] = [MARGIN, 1];
  for (const lane of lanes.values()) {
    lane.x = x;
    lane.width = Math.max(1, lane.columns.length) * STEP - GAP.x;
    lane.columns.forEach((nodes, step) => {
      longest = Math.max(longest, nodes.length);
      for (const [row, node] of nodes.entries())
        places.set(node.id, { node, x: lane.x + step * STEP, y: TOP + row * (CARD.height + GAP.y) });
    });
    x += lane.width + GAP.x;
  }
  return {
    lanes: [...lanes.values()],
    places,
    edges: edgesOf(places),
    width: x,
    height: TOP + longest * (CARD.height + GAP.y) + MARGIN,
  };
}

function edgesOf(places: ReadonlyMap<string, PlacedNode>): Edge[] {
  const edges: Edge[] = [];
  const add = (kind: Edge["kind"], from: string, to: PlacedNode) => {
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
  return new Set(Object.values(refs).flatMap((path) => /(node-\d+)\/published/.exec(path)?.[1] ?? []));
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

/** Where an arrow key leads from a node: up and down in its column, left and right along its edges. */
export function neighbourOf(layout: BoardLayout, id: string, key: string): string | undefined {
  const here = layout.places.get(id);
  if (!here) return undefined;
  const beside = (step: number) =>
    [...layout.places.values()].find(({ x, y }) => x === here.x && y === here.y + step * (CARD.height + GAP.y))?.node
      .id;
  switch (key) {
    case "ArrowUp":
      return beside(-1);
    case "ArrowDown":
      return beside(1);
    case "ArrowRight":
      return layout.edges.find(({ from }) => from.node.id === id)?.to.node.id;
    case "ArrowLeft":
      return layout.edges.find(({ to }) => to.node.id === id)?.from.node.id;
    default:
      return undefined;
  }
}
