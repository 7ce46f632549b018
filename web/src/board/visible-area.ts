import { CARD, type PlacedNode } from "./lanes.ts";

/** A part of the board. */
export interface VisibleArea {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

type Scroller = Pick<HTMLElement, "scrollLeft" | "scrollTop" | "clientWidth" | "clientHeight">;

const BEYOND = 600;
const STEP = 200;

/** The visible area, in steps, so that it is not redrawn for every pixel. */
export function visibleAreaOf({ scrollLeft, scrollTop, clientWidth, clientHeight }: Scroller): VisibleArea {
  const left = Math.floor(scrollLeft / STEP) * STEP;
  const top = Math.floor(scrollTop / STEP) * STEP;
  return { left, top, right: left + clientWidth + STEP, bottom: top + clientHeight + STEP };
}

export function sameArea(a: VisibleArea, b: VisibleArea): boolean {
  return a.left === b.left && a.top === b.top && a.right === b.right && a.bottom === b.bottom;
}

/**
 * Whether a card is drawn; or an edge, which may pass through the visible area although both its cards are far away.
 */
export function isNear({ left, top, right, bottom }: VisibleArea, from: PlacedNode, to: PlacedNode = from): boolean {
  return (
    Math.max(from.x, to.x) > left - BEYOND &&
    Math.min(from.x, to.x) < right + BEYOND &&
    Math.max(from.y, to.y) > top - BEYOND &&
    Math.min(from.y, to.y) < bottom + BEYOND
  );
}

/** Where to scroll so that a card that is not visible becomes visible: no further than necessary. */
export function wayTo({ x, y }: PlacedNode, scroller: Scroller): { left?: number; top?: number } {
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = scroller;
  const isAside = x + CARD.width <= scrollLeft || x >= scrollLeft + clientWidth;
  const isHigher = y + CARD.height <= scrollTop || y >= scrollTop + clientHeight;
  return { ...(isAside && { left: x - 100 }), ...(isHigher && { top: y - 100 }) };
}
