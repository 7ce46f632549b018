import { expect, test } from "vitest";
import type { NodeState } from "../../../src/projections/index.ts";
import { isNear, visibleAreaOf, wayTo } from "./visible-area.ts";

const board = { scrollLeft: 3000, scrollTop: 3050, clientWidth: 800, clientHeight: 600 };
const at = (x: number, y: number) => ({ node: {} as NodeState, x, y });

test("what leads by is drawn though it begins and ends far away, and what lies elsewhere is not", () => {
  const sight = visibleAreaOf(board);
  const far = { left: at(0, 3100), right: at(9000, 3100), above: at(3100, 0) };
  expect([isNear(sight, at(3100, 3100)), isNear(sight, far.left), isNear(sight, far.right)]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isNear(sight, far.left, far.right), isNear(sight, far.right, far.left)]).toEqual([true, true]);
  expect(isNear(sight, at(0, 0), far.above)).toBe(false);
});

test("one is led to a card of which nothing is in sight, by one axis if that is enough, and to no other", () => {
  expect([at(3000, 3050), at(2800, 3000), at(3799, 3649)].map((place) => wayTo(place, board))).toEqual([{}, {}, {}]);
  expect(
    [at(2768, 3100), at(3800, 3100), at(3100, 2958), at(3100, 3650), at(0, 0)].map((p) => wayTo(p, board)),
  ).toEqual([{ left: 2668 }, { left: 3700 }, { top: 2858 }, { top: 3550 }, { left: -100, top: -100 }]);
});
