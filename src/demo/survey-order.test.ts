import { expect, test } from "vitest";
import { joinTask, readJoinTask, readSurveyTask, surveyTask } from "./survey-order.ts";

test("what the coordinator writes into a task, the worker reads out of it, whatever the names are", () => {
  const names = ["project/a (7 bytes)", "project/ü – `x` | y", "project/- z.md"];
  const files = names.map((path, bytes) => ({ path, kind: "file" as const, bytes }));
  const survey = { subject: "a, b and c", folders: names, files, remarks: ["There is no d.", "And no e."] };
  expect(readSurveyTask(surveyTask(survey))).toEqual(survey);
  const join = { subject: "a", refs: ["part-1", "part-2"], remarks: ["node-3 failed: why"] };
  expect(readJoinTask(joinTask(join))).toEqual(join);
});

test("somebody else's task is neither", () => {
  const task = "Survey the docs folder and tell us what is in it.";
  expect([readSurveyTask(task), readJoinTask(task)]).toEqual([undefined, undefined]);
});
