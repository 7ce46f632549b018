import { expect, test } from "vitest";
import { type Entry, NO_USAGE, type RunId } from "../protocol/index.ts";
import { runNote, withoutTold } from "./run-notes.ts";

const goal = (run_id: RunId, content: string): Entry => ({ role: "user", from: "human", content, run_id });
const finished = (summary: string, learned = ""): Entry => ({
  role: "assistant",
  content: [{ type: "call", id: "c", name: "finish", args: { summary, learned } }],
  ...{ model: "m", usage: NO_USAGE, cost_usd: 0, finish: "tool-calls" },
});
const note = (id: RunId, about: string, summary: string, learned = "") =>
  `## 12:00\n\n${runNote({ id, goal: about }, { kind: "finished", summary }, learned)}`;

test("the note of a run is left out where goal, summary and lesson stand in that run; a line names it and its files", () => {
  const long = `${"word ".repeat(90)}end`;
  const shown = [
    goal("run-1", "Measure\nthe chip"),
    finished("80 of 100.\n\nNo more.", "- warm up first\n- twice"),
    goal("run-2", long),
    finished(long),
  ];
  const first = note("run-1", "Measure\nthe chip", "80 of 100.\n\nNo more.", "- warm up first\n- twice");
  const tea = "## 12:05\n\nAlice prefers tea.";
  const inLog = withoutTold(shown);
  expect(inLog([first, tea])).toEqual([tea, "(run-1 is told below; files: agent/runs/run-1/)"]);
  // Cut and folded as notes are.
  expect(inLog([`${first}\n`, note("run-2", long, long)])).toEqual([
    "(run-1, run-2 are told below; files: agent/runs/RUN/)",
  ]);
  expect(inLog([tea])).toEqual([tea]);
});

test.each([
  ["the conversation does not have that run", note("run-3", "Measure the chip", "80.")],
  ["the conversation says something else", note("run-1", "Measure the chip", "90.")],
  ["another run says it", note("run-1", "Measure the chip", "Made tea.")],
  ["the lesson is not told", note("run-1", "Measure the chip", "80.", "Warm up first.")],
  ["somebody wrote below it", `${note("run-1", "Measure the chip", "80.")}\n\nThat was wrong: it is 82.`],
  ["somebody changed it", note("run-1", "Measure the chip", "80.").replace("Finished", "Nearly finished")],
])("the note of a run stays where %s", (_, entry) => {
  const shown = [goal("run-1", "Measure the chip"), finished("80."), goal("run-2", "Make tea"), finished("Made tea.")];
  expect(withoutTold(shown)([entry])).toEqual([entry]);
});

test("the note of a run of which a summary hides the goal stays", () => {
  const shown: Entry[] = [{ role: "summary", content: "Measure the chip: 80.", kept: 1 }, finished("80.")];
  const entry = note("run-1", "Measure the chip", "80.");
  expect(withoutTold(shown)([entry])).toEqual([entry]);
});
