import { expect, test } from "vitest";
import { datesToFind, dateWords } from "./dates.ts";

test("a day is the same words however it is written, and belongs to its month", () => {
  const ways = ["2023-05-08", "8 May, 2023", "on the 8th of May 2023", "May 8, 2023", "1:56 pm on 8 may, 2023"];
  const same = ["20230508", "m05d08", "202305", "m05"].sort();
  expect(ways.map((way) => dateWords(way).sort())).toEqual(ways.map(() => same));
});

test.each<[string, string[]]>([
  ["What happened on 8 May 2023?", ["20230508", "m05d08"]],
  ["on May 8th", ["m05d08"]],
  ["in May 2023", ["202305", "m05"]],
  ["in 2023-05", ["202305", "m05"]],
  ["last May", ["m05"]],
  ["It may march on 31 cats at 10:45, 2023-13-40, version 1.2023-05-08-1", []],
  ["May 20 people come?", ["m05d20"]],
])("%j looks for %j", (query, words) => expect(datesToFind(query)).toEqual(words));
