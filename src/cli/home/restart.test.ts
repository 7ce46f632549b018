import { expect, test } from "vitest";
import { crashesWith, takeNote, waitAfter } from "./restart.ts";

const MINUTE = 60_000;

test("after each crash within ten minutes the server waits longer, and after the fifth it does not restart", () => {
  const waits: (number | undefined)[] = [];
  let crashes: number[] = [];
  for (let crash = 0; crash < 6; crash++) {
    const next = crashesWith(crash * MINUTE, crashes);
    waits.push(next && waitAfter({ crashes: next }));
    crashes = next ?? crashes;
  }
  expect(waits).toEqual([0, 250, 500, 1000, 2000, undefined]);
  expect(crashesWith(11 * MINUTE, crashes)).toEqual([2 * MINUTE, 3 * MINUTE, 4 * MINUTE, 11 * MINUTE]);
});

test("the note for the new image is taken out of the environment, and a note that cannot be read counts as none", () => {
  const env = { AGIRAPH_RESTARTED: JSON.stringify({ port: 4747, crashes: [1] }), OTHER: "x" };
  expect(takeNote(env)).toEqual({ port: 4747, crashes: [1] });
  expect(env).toEqual({ OTHER: "x" });
  for (const text of ["", "{", "[]", '{"port":0,"crashes":[]}', '{"port":"x"}'])
    expect(takeNote({ AGIRAPH_RESTARTED: text })).toBeUndefined();
});
