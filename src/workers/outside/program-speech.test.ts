import { expect, test } from "vitest";
import type { UserEntry } from "../../protocol/index.ts";
import { ProgramSpeech, type SpeechPorts } from "./program-speech.ts";
import { SilenceWatchdog } from "./silence-watchdog.ts";

const signal = new AbortController().signal;
const mail: UserEntry = { role: "user", from: "human", content: "Hurry." };

test("mail for a program that is gone stays where it is, and is not looked for without end", async () => {
  const { speech, watchdog, heard, looks } = speaking();
  watchdog.state = "gone";
  await speech.listen();
  expect([looks.count, heard]).toEqual([1, []]);
});

test("a program that is stopped while there is no money to speak to it is told nothing, and the money is free again", async () => {
  const { speech, watchdog, heard, asked, money } = speaking();
  const listening = speech.listen();
  await asked.promise;
  watchdog.state = "gone";
  money.resolve();
  await listening;
  expect([heard, watchdog.state, await speech.say([mail], [])]).toEqual([["rests"], "gone", undefined]);
});

test("mail is on disk, then said", async () => {
  const { speech, watchdog, heard, money } = speaking();
  money.resolve();
  await expect(speech.listen()).rejects.toThrow("no more mail");
  expect([heard, watchdog.state]).toEqual([["on disk", "Hurry."], "busy"]);
});

/** A program that rests, with one letter waiting for it. */
function speaking() {
  const watchdog = new SilenceWatchdog({ now: () => 0, sleep: async () => {} });
  const heard: string[] = [];
  const looks = { count: 0 };
  const asked = Promise.withResolvers<void>();
  const money = Promise.withResolvers<void>();
  const waiting = [mail];
  const mailbox = {
    async arrived() {
      looks.count += 1;
      if (waiting.length === 0 || looks.count > 10) throw new Error("no more mail");
    },
  };
  const assignment = {
    mailbox,
    self: { worker_id: "clara", node_id: "node-1" },
    hasEnded: () => false,
    news: () => waiting.splice(0),
  };
  const ports = {
    ...{ watchdog, signal, isOver: () => false, waitsForHuman: () => false },
    transcript: { heard: async () => void heard.push("on disk"), thinks: () => {} },
    budget: {
      begin() {
        asked.resolve();
        return money.promise;
      },
      rest: async () => void heard.push("rests"),
    },
    hears: () => true,
    speak: async (words: string) => void heard.push(words),
  };
  const speech = new ProgramSpeech(
    assignment as unknown as ConstructorParameters<typeof ProgramSpeech>[0],
    ports as unknown as SpeechPorts,
  );
  return { speech, watchdog, heard, looks, asked, money };
}
