import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { MidTurnWords } from "./mid-turn-words.ts";

test("what an agent takes is said into its turn, in order; what it refuses or fails at is said later", async () => {
  const asked: string[] = [];
  const later: string[] = [];
  const midTurnWords = new MidTurnWords(
    async (text) => {
      asked.push(text);
      if (text === "fails") throw new Error("Method not found");
      return text !== "refused";
    },
    async (text) => void later.push(text),
  );
  for (const text of ["first", "refused", "fails", "last"]) midTurnWords.say(text);
  expect(await midTurnWords.turnEnds()).toEqual(["first", "last"]);
  expect([asked, later]).toEqual([
    ["first", "refused", "fails", "last"],
    ["refused", "fails"],
  ]);
});

test("what was said into one turn is not told again when the next one ends", async () => {
  const midTurnWords = new MidTurnWords(
    async () => true,
    async () => {},
  );
  midTurnWords.say("once");
  expect([await midTurnWords.turnEnds(), await midTurnWords.turnEnds()]).toEqual([["once"], []]);
});

test("a model call has read what was taken before the last result, and not what was taken after it", async () => {
  const taking = Promise.withResolvers<boolean>();
  const midTurnWords = new MidTurnWords(
    () => taking.promise,
    async () => {},
  );
  midTurnWords.say("Paint it red.");
  // This result is from before, however late it is told.
  midTurnWords.answered();
  taking.resolve(true);
  await setImmediate();
  midTurnWords.isRead();
  expect(midTurnWords.hasUnread).toBe(true);
  midTurnWords.answered();
  midTurnWords.isRead();
  expect([midTurnWords.hasUnread, midTurnWords.takeUnread()]).toEqual([false, false]);
});

test("what is unread is asked about once", () => {
  const midTurnWords = new MidTurnWords(
    async () => true,
    async () => {},
  );
  midTurnWords.say("Paint it red.");
  expect([midTurnWords.takeUnread(), midTurnWords.takeUnread()]).toEqual([true, false]);
});
