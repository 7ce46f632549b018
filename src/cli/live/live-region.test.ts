import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { LiveRegion } from "./live-region.ts";

/** A terminal that remembers each write, with a clock that the test turns. */
function fakeScreen(columns: number, rows: number) {
  const writes: string[] = [];
  const due: (() => void)[] = [];
  const screen = Object.assign(new EventEmitter(), { columns, rows, write: (text: string) => void writes.push(text) });
  const ticker = {
    after(_ms: number, then: () => void) {
      due.push(then);
      return () => void due.splice(due.indexOf(then), 1);
    },
  };
  return { screen, ticker, writes, due, tick: () => due.splice(0).forEach((then) => void then()) };
}

const ERASE = "\r\u001b[2K\u001b[C\u001b[J\r";
const frame = (text: string) => `\u001b[?2026h${text}\u001b[?2026l`;
const region = (...lines: string[]) => `\u001b[?7l${lines.map((line) => `${line}\n`).join("")}\u001b[?7h`;

test("each frame is one write: the old region goes, what was printed stays, the new region stands below", () => {
  const { screen, ticker, writes, tick } = fakeScreen(40, 20);
  const lines = ["tree", "leaf"];
  const live = new LiveRegion(screen, ticker, () => lines);
  live.print("first");
  live.print("second", "third");
  tick();
  lines.pop();
  live.refresh();
  tick();
  live.print("last");
  live.close();
  expect(writes).toEqual([
    "\u001b[?25l",
    frame(`${ERASE}${region("tree", "leaf")}`),
    frame(`\u001b[2A${ERASE}first\nsecond\nthird\n${region("tree", "leaf")}`),
    frame(`\u001b[2A${ERASE}${region("tree")}`),
    `${frame(`\u001b[1A${ERASE}last\n`)}\u001b[?25h`,
  ]);
});

test("however much happens between two frames, there is one frame", () => {
  const { screen, ticker, writes, due, tick } = fakeScreen(40, 20);
  const live = new LiveRegion(screen, ticker, () => []);
  for (let i = 0; i < 1000; i++) live.print(`line ${i}`);
  expect({ due: due.length, writes: writes.length }).toEqual({ due: 1, writes: 2 });
  tick();
  expect(writes.length).toBe(3);
});

test("after the window became narrower, the rows that its own wrapping made are taken back too", () => {
  const { screen, ticker, writes, tick } = fakeScreen(40, 20);
  new LiveRegion(screen, ticker, () => ["x".repeat(30), "\u001b[31mshort\u001b[39m"]);
  screen.columns = 10;
  screen.emit("resize");
  tick();
  expect(writes.at(-1)?.startsWith(`\u001b[?2026h\u001b[4A${ERASE}`)).toBe(true);
});

test("the region asks for at most twelve lines, and fewer in a low window", () => {
  const asked: [number, number][] = [];
  for (const rows of [50, 8, 2]) {
    const { screen, ticker } = fakeScreen(40, rows);
    new LiveRegion(screen, ticker, (columns, lines) => {
      asked.push([columns, lines]);
      return [];
    }).close();
  }
  expect(asked).toEqual([
    [39, 12],
    [39, 6],
  ]);
});

test("after it is closed nothing is written and nothing listens", () => {
  const { screen, ticker, writes, due } = fakeScreen(40, 20);
  const live = new LiveRegion(screen, ticker, () => ["tree"]);
  live.refresh();
  live.close();
  const before = writes.length;
  live.refresh();
  live.close();
  expect({ written: writes.length - before, due: due.length, listeners: screen.listenerCount("resize") }).toEqual({
    written: 0,
    due: 0,
    listeners: 0,
  });
});
