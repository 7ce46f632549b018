import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import { type NodeState, type Situation, shownNodeStatus } from "../../../src/projections/index.ts";
import { HUMAN, type NodeId, type RunId } from "../../../src/protocol/index.ts";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Loading, Missing, Nowhere } from "../entity/entity-view.tsx";
import { useAgent } from "../live/use-live.ts";
import { go } from "../shell/route.ts";
import { crowd } from "../shell/status.tsx";
import { count, firstLine } from "../text/figures.ts";
import { type BoardLayout, boardLayoutOf, type Edge, neighbourOf, pathOf } from "./lanes.ts";
import { NodeCard } from "./node-card.tsx";
import { NodePanel } from "./node-panel.tsx";
import { isNear, sameArea, type VisibleArea, visibleAreaOf, wayTo } from "./visible-area.ts";

/** The board as a graph that grows. */
export default function BoardView({ agent, node }: { agent: string; node: string | null }) {
  const view = useAgent(agent);
  const { situation } = view;
  const [chosen, setChosen] = useState<RunId | null>(null);
  const runs = situation ? runsOf(Object.values(situation.board.nodes).map(({ spec }) => spec.run_id)) : [];
  if (view.state === "gone") return <Nowhere what={`There is no agent ${agent}.`} />;
  if (!situation) return <Loading />;
  const selected = node ? situation.board.nodes[node as NodeId] : undefined;
  const run = selected?.spec.run_id ?? chosen ?? runs.at(-1) ?? situation.agent.run?.id ?? "run-1";
  const nodes = Object.values(situation.board.nodes).filter(({ spec }) => spec.run_id === run);
  const done = nodes.filter(({ status }) => status === "completed").length;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader
        title="Board"
        detail={
          situation.agent.created.name + (nodes.length > 0 ? ` · ${done} of ${count(nodes.length, "node")} done` : "")
        }
      >
        {runs.length > 1 && (
          <select
            aria-label="Run"
            value={run}
            onChange={(event) => {
              setChosen(event.target.value as RunId);
              go({ screen: "board", agent, node: null });
            }}
            className="min-h-11 w-40 min-w-0 rounded-md border border-line bg-page px-2 md:min-h-8 md:w-72"
          >
            {runs.map((each) => (
              <option key={each} value={each}>
                {each} · {firstLine(situation.agent.goals[each] ?? "")}
              </option>
            ))}
          </select>
        )}
      </ScreenHeader>
      <div className="relative flex min-h-0 flex-1">
        {nodes.length === 0 ? (
          <Missing
            what={
              situation.agent.status === "completed"
                ? "The coordinator did it alone: there was no work to hand out."
                : "No work yet. Nodes appear here as the team creates them."
            }
          />
        ) : (
          <Lanes agent={agent} layout={boardLayoutOf(situation, run)} selected={node} situation={situation} />
        )}
        {selected && <NodePanel key={selected.id} view={view} situation={situation} node={selected} />}
      </div>
    </div>
  );
}

function runsOf(all: readonly RunId[]): RunId[] {
  return [...new Set(all)];
}

/** Who has it or will have it; else what it waits for first. */
function whoHas(node: NodeState, { roster: names, board }: Situation): string {
  const named = (id: string) => (id === HUMAN ? "you" : (names[id]?.spawned.name ?? id));
  if ("worker_id" in node) return named(node.worker_id);
  if (node.reserved_for) return `for ${named(node.reserved_for)}`;
  const before = node.spec.dependencies.filter((id) => board.nodes[id]?.status !== "completed");
  return before.length > 0 ? `after ${before.join(", ")}` : "nobody yet";
}

const DASHES: Record<Edge["kind"], string> = { depends: "", part: "2 4", ref: "6 4" };

/** The arrow keys where nothing has the focus. `begin` says whether there was somewhere to go. */
function useFirstArrow(begin: () => boolean): void {
  const latest = useRef(begin);
  useEffect(() => {
    latest.current = begin;
  });
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent) => {
      if (!event.key.startsWith("Arrow") || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (event.target !== document.body && event.target !== document.getElementById("main")) return;
      if (latest.current()) event.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

function Lanes({
  agent,
  layout,
  selected,
  situation,
}: {
  agent: string;
  layout: BoardLayout;
  selected: string | null;
  situation: Situation;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const { sight, look } = useVisibleArea(scroller);
  const press = useCardSteps(scroller, layout, selected);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys move between the links in it
    <div
      ref={scroller}
      onScroll={look}
      onKeyDown={press}
      className={`min-h-0 flex-1 overflow-auto overscroll-contain bg-raised ${crowd(Object.values(situation.board.nodes), "running")}`}
      data-board
    >
      <div className="relative" style={{ width: layout.width, height: layout.height }}>
        <LaneTitles lanes={layout.lanes} />
        <Edges layout={layout} sight={sight} selected={selected} />
        {[...layout.places.values()]
          .filter((place) => isNear(sight, place))
          .map(({ node, x, y }) => (
            <NodeCard
              key={node.id}
              agent={agent}
              node={node}
              statusText={shownNodeStatus(node, situation, situation.agent.status)}
              x={x}
              y={y}
              isSelected={node.id === selected}
              who={whoHas(node, situation)}
            />
          ))}
      </div>
    </div>
  );
}

/** Moves from card to card: to the one whose panel is opened, and by the arrow keys. Returns what a key does. */
function useCardSteps(scroller: RefObject<HTMLDivElement | null>, layout: BoardLayout, selected: string | null) {
  const cardOf = (id: string) => scroller.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`);
  const before = useRef(selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another node is opened
  useEffect(() => {
    const place = selected ? layout.places.get(selected) : undefined;
    if (place && scroller.current) scroller.current.scrollTo(wayTo(place, scroller.current));
    // Anyone who closes the panel, or goes on from it to another node, is with the card again.
    const left = before.current;
    before.current = selected;
    if (left !== null && document.activeElement === document.body)
      cardOf(selected ?? left)?.focus({ preventScroll: true });
  }, [selected]);

  const step = (next: string) => {
    const card = () => cardOf(next);
    const place = layout.places.get(next);
    if (card()) card()?.focus();
    else if (place) {
      scroller.current?.scrollTo({ top: place.y - 100, left: place.x - 100 });
      // It is drawn once it is near.
      requestAnimationFrame(() => requestAnimationFrame(() => card()?.focus()));
    }
  };
  // While a panel is open, the arrows move what is read there.
  useFirstArrow(() => {
    const [first] = selected === null ? layout.places.keys() : [];
    if (first !== undefined) step(first);
    return first !== undefined;
  });
  return (event: KeyboardEvent) => {
    const id = (event.target as HTMLElement).dataset.node;
    const next = id ? neighbourOf(layout, id, event.key) : undefined;
    if (!next) return;
    event.preventDefault();
    step(next);
  };
}

/** The part of the board that is in sight: kept up to date by `look`, and when the page is resized. */
function useVisibleArea(scroller: RefObject<HTMLDivElement | null>) {
  const [sight, setSight] = useState<VisibleArea>({ left: 0, top: 0, right: 2000, bottom: 1200 });
  const look = () => {
    if (!scroller.current) return;
    const now = visibleAreaOf(scroller.current);
    setSight((before) => (sameArea(before, now) ? before : now));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: as long as it is there; at once, and whenever it grows
  useEffect(() => {
    if (!scroller.current) return;
    const watch = new ResizeObserver(look);
    watch.observe(scroller.current);
    return () => watch.disconnect();
  }, []);
  return { sight, look };
}

function LaneTitles({ lanes }: Pick<BoardLayout, "lanes">) {
  return lanes.map(({ key, title, status, x, width, nodes }) => (
    <div key={key} className="absolute top-0 h-full" style={{ left: x - 16, width: width + 32 }}>
      <h2 className="sticky top-0 z-10 flex h-10 items-center gap-2 bg-raised px-4 text-[13px] font-semibold">
        <span className="truncate" title={title}>
          {title}
        </span>
        <span className="ml-auto shrink-0 text-xs font-normal text-dim">
          {status === "none" || status === "running" ? nodes.length : status}
        </span>
      </h2>
    </div>
  ));
}

interface EdgesProps {
  layout: BoardLayout;
  sight: VisibleArea;
  selected: string | null;
}

function Edges({ layout, sight, selected }: EdgesProps) {
  return (
    <svg aria-hidden width={layout.width} height={layout.height} className="pointer-events-none absolute inset-0">
      {layout.edges
        .filter(({ from, to }) => isNear(sight, from, to))
        .map((edge) => (
          <path
            key={edge.key}
            d={pathOf(edge)}
            fill="none"
            strokeDasharray={DASHES[edge.kind]}
            className={selected === edge.from.node.id || selected === edge.to.node.id ? "stroke-accent" : "stroke-off"}
            strokeWidth={1.5}
            opacity={selected === edge.from.node.id || selected === edge.to.node.id ? 1 : 0.55}
          />
        ))}
    </svg>
  );
}
