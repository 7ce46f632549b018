import { expect, test } from "vitest";
import { MidTurnWords } from "./mid-turn-words.ts";

test("what an agent takes is said into its turn, in order; what it refuses or fails at is said later", async () => {
  const asked: string[] = [];
  const later: string[] = [];
  const steering = new MidTurnWords(
    async (text) => {
      asked.push(text);
      if (text === "fails") throw new Error("Method not found");
      return text !== "refused";
    },
    async (text) => void later.push(text),
  );
  for (const text of ["first", "refused", "fails", "last"]) steering.say(text);
  expect(await steering.turnEnds()).toEqual(["first", "last"]);
  expect([asked, later]).toEqual([
    ["first", "refused", "fails", "last"],
    ["refused", "fails"],
  ]);
});

test("what was said into one turn is not told again when the next one ends", async () => {
  const steering = new MidTurnWords(
    async () => true,
    async () => {},
  );
  steering.say("once");
  expect([await steering.turnEnds(), await steering.turnEnds()]).toEqual([["once"], []]);
});
