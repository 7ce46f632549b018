import { expect, test } from "vitest";
import { readGoal } from "./goal.ts";

const paths = (text: string) => readGoal(text).places.map(({ path }) => path);

test.each([
  ["Survey the files in ./docs and write a report", ["project/docs"]],
  ["Survey ./docs.", ["project/docs"]],
  ["Look at docs/, then at src/models.", ["project/docs", "project/src/models"]],
  ['What is in "my notes/2024 (old)"?', ["project/my notes/2024 (old)"]],
  ["Summarise README.md", ["project/README.md"]],
  ["Survey /home/me/work/docs", ["project/home/me/work/docs"]],
  ["the files in documents", ["project/documents"]],
  ["Describe the Notes folder", ["project/Notes"]],
  ["Survey .", ["project"]],
  ["Survey the files in project/docs", ["project/docs"]],
  ["Survey ../secret", ["project/../secret"]],
  ["Read https://example.org/docs/ and me@example.org", []],
  ["Survey the files in this folder", []],
  ["Übersicht über ./Dokumente/Größe", ["project/Dokumente/Größe"]],
])("%s", (text, expected) => {
  expect(paths(text)).toEqual(expected);
});

test.each([
  ["Survey this project", true],
  ["Write a report on ./docs", true],
  ["What are these files about?", true],
  ["write me a poem", false],
  ["Write a poem about ./docs", false],
  ["Build a REST API for todos", false],
  ["Summarise the API docs", true],
  ["Which chip is faster?", false],
  ["Compare the three csv files in ./data and write what differs", false],
  ["List the differences between a.csv and b.csv", false],
  ["Please fix the typos in ./docs", false],
  ["Read the notes and translate them", false],
  ["Calculate the total of ./data/sales.csv", false],
  ["Survey the files in ./docs and write a report", true],
  ["Survey the docs: what is planned, what was fixed, how to build it", true],
  ["Give me an overview of this repo", true],
  ["Read ./docs and tell me what it is about", true],
  ["Go through my notes folder", true],
  ["Count the files in ./docs", true],
  ["Read the files and tell me which is the best", false],
  ["Which of the files in ./docs is wrong?", false],
  ["Review the code in ./src for bugs", false],
  ["Write a report on climate change", false],
  ["List the reasons why this failed", false],
  ["List the ten best restaurants", false],
  ["Describe photosynthesis", false],
  ["Who wrote ./docs/guide.md?", false],
  ["Vergleiche ./a.csv mit ./b.csv", false],
  ["Make ./docs shorter", false],
  ["Hello", false],
  ["Survey", true],
])("is it a survey: %s", (text, expected) => {
  expect(readGoal(text).isSurvey).toBe(expected);
});

test.each([
  ["Survey the files in ./docs and write a report", []],
  ["Survey docs, src and the tests", []],
  ["Survey ./docs and './this and that'. Give me a short summary.", []],
  ["Read ./docs and tell me what it is about", []],
  ["Summarise ./data, then compare the files", ["compare the files"]],
  ["Survey the docs: what is planned, how to build it", ["what is planned", "how to build it"]],
  ["List the files in ./docs and write a poem about them", ["write a poem about them"]],
  ["Survey ./docs. Say which one is out of date and fix it.", ["Say which one is out of date", "fix it"]],
])("what is beyond a survey: %s", (text, expected) => {
  const { isSurvey, beyond } = readGoal(text);
  expect({ isSurvey, beyond }).toEqual({ isSurvey: true, beyond: expected });
});
