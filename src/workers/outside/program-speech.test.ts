import { expect, test } from "vitest";
import type { UserEntry } from "../../protocol/index.ts";
import { Voice, type VoicePorts } from "./program-speech.ts";
import { Pulse } from "./silence-watchdog.ts";

const signal = new AbortController().signal;
const mail: UserEntry = { role: "user", from: "human", content: "Hurry." };

test("mail for somebody who is gone stays where it is, and nobody looks for it without end", async () => {
  const { voice, pulse, heard, looks } = speaking();
  pulse.state = "gone";
  await voice.listen();
  expect([looks.count, heard]).toEqual([1, []]);
});

test("who is let go while there is no money to speak to it is told nothing, and the money is free again", async () => {
  const { voice, pulse, heard, asked, money } = speaking();
  const listening = voice.listen();
  await asked.promise;
  pulse.state = "gone";
  money.resolve();
  await listening;
  expect([heard, pulse.state, await voice.say([mail], [])]).toEqual([["rests"], "gone", undefined]);
});

test("mail is on disk, then said", async () => {
  const { voice, pulse, heard, money } = speaking();
  money.resolve();
  await expect(voice.listen()).rejects.toThrow("no more mail");
  expect([heard, pulse.state]).toEqual([["on disk", "Hurry."], "busy"]);
});

/** A program that rests, with one letter waiting for it. */
function speaking() {
  const pulse = new Pulse({ now: () => 0, sleep: async () => {} });
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
  const seat = {
    mailbox,
    actor: { worker_id: "clara", node_id: "node-1" },
    hasEnded: () => false,
    news: () => waiting.splice(0),
  };
  const ports = {
    ...{ pulse, signal, isOver: () => false, waitsForHuman: () => false },
    minutes: { heard: async () => void heard.push("on disk"), thinks: () => {} },
    allowance: {
      begin() {
        asked.resolve();
        return money.promise;
      },
      rest: async () => void heard.push("rests"),
    },
    speak: async (words: string) => void heard.push(words),
  };
  const voice = new Voice(seat as unknown as ConstructorParameters<typeof Voice>[0], ports as unknown as VoicePorts);
  return { voice, pulse, heard, looks, asked, money };
}
