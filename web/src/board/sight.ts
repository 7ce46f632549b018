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

/** What is in sight, in steps: not every pixel has it drawn again. */
export function visibleAreaOf({ scrollLeft, scrollTop, clientWidth, clientHeight }: Scroller): VisibleArea {
  const left = Math.floor(scrollLeft / STEP) * STEP;
  const top = Math.floor(scrollTop / STEP) * STEP;
  return { left, top, right: left + clientWidth + STEP, bottom: top + clientHeight + STEP };
}

export function sameSight(a: VisibleArea, b: VisibleArea): boolean {
  return a.left === b.left && a.top === b.top && a.right === b.right && a.bottom === b.bottom;
}

/** Whether a card is to be drawn; or what leads from one to another, which may pass by though both are far. */
export function isNear({ left, top, right, bottom }: VisibleArea, from: PlacedNode, to: PlacedNode = from): boolean {
  return (
    Math.max(from.x, to.x) > left - BEYOND &&
    Math.min(from.x, to.x) < right + BEYOND &&
    Math.max(from.y, to.y) > top - BEYOND &&
    Math.min(from.y, to.y) < bottom + BEYOND
  );
}

/** Where to scroll so that a card of which nothing is in sight is: exactly, and only as far as it must. */
export function wayTo({ x, y }: PlacedNode, scroller: Scroller): { left?: number; top?: number } {
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = scroller;
  const isAside = x + CARD.width <= scrollLeft || x >= scrollLeft + clientWidth;
  const isHigher = y + CARD.height <= scrollTop || y >= scrollTop + clientHeight;
  return { ...(isAside && { left: x - 100 }), ...(isHigher && { top: y - 100 }) };
}
