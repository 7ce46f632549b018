import { type Dice, diceOf } from "../simulation/dice.ts";

/**
 * A year of an agent's daily logs, drawn from a seed: things that change (who is responsible, which version, what
 * something costs), each said anew two to four times over the year in other words, among everyday entries that name the
 * same things in passing.
 */
export interface Year {
  files: Record<string, string>;
  facts: { question: string /** From the oldest to the newest. */; said: string[] }[];
}

const THINGS =
  `billing search mail login export invoices reports backups gateway scheduler website newsletter warehouse checkout
  payroll archive monitoring deployment translation analytics`.split(/\s+/);
const KINDS: {
  question: (thing: string) => string;
  says: ((thing: string, value: string) => string)[];
  values: string[];
}[] = [
  {
    question: (thing) => `Who is responsible for ${thing}?`,
    says: [
      (thing, value) => `${value} is responsible for ${thing}.`,
      (thing, value) => `Responsibility for ${thing} went to ${value} today.`,
      (thing, value) => `From now on ${value} is the one responsible for ${thing}, the team decided.`,
      (thing, value) => `${thing}: responsible is ${value}.`,
    ],
    values: "Amara Bela Chen Dora Emil Farid Greta Hugo Iris Jonas".split(" "),
  },
  {
    question: (thing) => `Which version of ${thing} is in production?`,
    says: [
      (thing, value) => `Version ${value} of ${thing} is in production.`,
      (thing, value) => `${thing} version ${value} went to production after the tests.`,
      (thing, value) => `Production runs ${thing} in version ${value} since this morning.`,
      (thing, value) => `We rolled ${thing} back: production is on version ${value} again.`,
    ],
    values: "1.4 1.9 2.0 2.3 3.1 3.2 4.0 4.4 5.1 6.0".split(" "),
  },
  {
    question: (thing) => `What is the monthly cost of ${thing}?`,
    says: [
      (thing, value) => `The monthly cost of ${thing} is ${value} euros.`,
      (thing, value) => `${thing} has a monthly cost of ${value} euros according to the bill.`,
      (thing, value) => `Cost of ${thing}: ${value} euros monthly, says the new contract with the provider.`,
      (thing, value) => `Monthly, ${thing} comes to a cost of ${value} euros.`,
    ],
    values: "40 75 90 120 180 260 310 450 700 990".split(" "),
  },
];
const PASSING: ((thing: string, other: string) => string)[] = [
  (thing, other) => `Talked about ${thing} and ${other}; nothing new.`,
  (thing) => `A customer asked about ${thing}. Answered.`,
  (thing, other) => `The tests of ${thing} were slow, those of ${other} were not.`,
  (thing) => `Looked at the logs of ${thing}: quiet.`,
  (thing, other) => `Wrote the notes for ${other}, then those for ${thing}.`,
];

export function yearOf(seed: number): Year {
  const dice = diceOf(seed);
  const entries = Array.from({ length: 365 }, (): string[] => []);
  const facts = THINGS.flatMap((thing) => KINDS.map((kind) => tellOverTheYear(thing, kind, entries, dice)));
  for (const day of entries)
    for (let more = 3 + dice.int(4); more > 0; more--)
      day.splice(dice.int(day.length + 1), 0, dice.pick(PASSING)(dice.pick(THINGS), dice.pick(THINGS)));
  const files = entries.map((day, at): [string, string] => [
    `${new Date(Date.UTC(2025, 0, 1 + at)).toISOString().slice(0, 10)}.md`,
    day
      .map((words, number) => `## ${String(9 + (number % 10)).padStart(2, "0")}:${10 + number}\n\n${words}`)
      .join("\n\n"),
  ]);
  return { files: Object.fromEntries(files), facts };
}

function tellOverTheYear(thing: string, kind: (typeof KINDS)[number], entries: string[][], dice: Dice) {
  const times = 2 + dice.int(3);
  const days = Array.from({ length: times }, () => dice.int(365)).sort((a, b) => a - b);
  const values = [...kind.values].sort(() => dice.int(3) - 1);
  const said = days.map((day, at) => {
    const words = dice.pick(kind.says)(thing, values[at] ?? "");
    entries[day]?.push(words);
    return words;
  });
  return { question: kind.question(thing), said };
}
