import { memo } from "react";
import type { NodeState } from "../../../src/projections/index.ts";
import { Link } from "../shell/link.tsx";
import { colourOf, StatusDot, statusOfNode } from "../shell/status.tsx";
import { firstLine, money } from "../text/figures.ts";
import { CARD } from "./lanes.ts";

export const NodeCard = memo(
  function NodeCard({
    agent,
    node,
    statusText,
    x,
    y,
    who,
    isSelected,
  }: {
    agent: string;
    node: NodeState;
    statusText: string;
    x: number;
    y: number;
    who: string;
    isSelected: boolean;
  }) {
    const status = statusOfNode(statusText);
    return (
      <div className="absolute" style={{ left: x, top: y, width: CARD.width, height: CARD.height }}>
        <Link
          to={{ screen: "board", agent, node: node.id }}
          node={node.id}
          current={isSelected}
          className="flex h-full flex-col rounded-lg border border-line bg-page px-3 py-2 shadow-xs hover:border-accent aria-[current]:border-accent aria-[current]:ring-1 aria-[current]:ring-accent"
        >
          <span className="flex items-center gap-1.5 text-xs">
            <StatusDot status={status} isBeside />
            <span className={`font-medium ${colourOf(status)}`}>{statusText}</span>
            <span className="ml-auto font-mono text-[11px] text-dim">{node.id}</span>
          </span>
          <span className="mt-1 line-clamp-2 text-[13px] leading-snug font-medium [overflow-wrap:anywhere]">
            {firstLine(node.spec.task)}
          </span>
          <span className="mt-auto flex items-center gap-2 text-xs text-dim">
            <span className="truncate">{who}</span>
            {node.spent_usd > 0 && <span className="ml-auto shrink-0">{money(node.spent_usd)}</span>}
          </span>
        </Link>
      </div>
    );
  },
  (a, b) =>
    a.node === b.node &&
    a.statusText === b.statusText &&
    a.isSelected === b.isSelected &&
    a.x === b.x &&
    a.y === b.y &&
    a.who === b.who,
);
