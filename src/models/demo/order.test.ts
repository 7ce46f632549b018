import { expect, test } from "vitest";
import { joinTask, readJoinTask, readSurveyTask, surveyTask } from "./order.ts";
import type { Place } from "./survey.ts";

const places: Place[] = [
  { path: "project/a (this file)", reach: "deep" },
  { path: "project/ü – `x` | y", reach: "own" },
  { path: "project/- z.md", reach: "file" },
];

test("what the coordinator writes into a task, the worker reads out of it, whatever the names are", () => {
  const survey = { subject: "a, b and c", places, atMost: 12, remarks: ["There is no d.", "And no e."] };
  expect(readSurveyTask(surveyTask(survey))).toEqual(survey);
  const join = { subject: "a", places, refs: ["part-1", "part-2"], remarks: ["node-3 failed: why"] };
  expect(readJoinTask(joinTask(join))).toEqual(join);
});

test("somebody else's task is neither", () => {
  const task = "Survey the docs folder and tell us what is in it.";
  expect([readSurveyTask(task), readJoinTask(task)]).toEqual([undefined, undefined]);
});
