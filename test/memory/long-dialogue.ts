import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Dice, diceOf } from "../simulation/dice.ts";

/**
 * A long dialogue of two friends over many days, drawn from a seed: what they tell each other (exchanges.txt, written
 * by hand, in no particular order), small talk between, and a few things they say again and again on different days.
 * Nobody repeats the question's words on purpose; what is asked about often stands beside the turn that is alike.
 */
export interface LongDialogue {
  /** A day's turns, by its date. */
  days: { date: string; turns: Turn[] }[];
  questions: Question[];
}

export interface Turn {
  id: number;
  speaker: string;
  words: string;
}

/**
 * `near`: asked as by somebody who has just read it. `other words`: as by somebody who remembers that there was
 * something. `several`: turns of different days say it. `dated`: the same was said on other days too.
 */
export type Kind = "near" | "other words" | "several" | "dated";

export interface Question {
  kind: Kind;
  question: string;
  /** The turns that say it. */
  evidence: readonly number[];
}

interface Block {
  group: string | undefined;
  near: string;
  otherWords: string;
  turns: { who: "A" | "B"; isEvidence: boolean; words: string }[];
}

const NAMES = "Caroline Melanie Jon Gina Maria Dave Nora Felix Ingrid Samir Ruth Oscar".split(" ");
const MONTHS = "January February March April May June July August September October November December".split(" ");

/** Friends come back to the same things all the time: most words of a question are in many places. */
const THINGS =
  `tent trip lake kids race office dog vet canvas harbour hands portrait workshop wheel mum bags island husband library
  anniversary lines stairs boy brother dad lessons neighbour band park book train diary picture attic application panel
  job shop bank paint leg knee doctor cheese pages garden beans tomatoes balcony cake couple dinner gran envelope rivers
  town council swings market sea ring roof hospital drawbridge flat bed heating lawyer Portuguese sister twins stars
  climbing cup boxes film ear boats teacher phone table meeting children pancakes meetings client kitten instrument`.split(
    /\s+/,
  );
const REMARKS: ((thing: string, other: string) => string)[] = [
  (thing) => `I keep thinking about the ${thing}.`,
  (thing, other) => `First the ${thing}, then the ${other}, it never ends.`,
  (thing) => `You and your ${thing}!`,
  (thing, other) => `It is the ${thing} all over again, only without the ${other}.`,
  (thing) => `Remember what I told you about the ${thing}?`,
  (thing) => `How did it go with the ${thing}?`,
  (thing, other) => `Between the ${thing} and the ${other} I hardly sat down.`,
  (thing) => `We talked about the ${thing} for an hour.`,
];

/** Said on many days; only the date tells one from the other. */
const AGAIN = [
  {
    asks: "What are you having for supper?",
    answers: (it: string) => `Tonight it's ${it}, nothing fancy.`,
    question: (who: string, when: string) => `What did ${who} eat ${when}?`,
    things:
      "lentil soup,fish pie,mushroom risotto,cold noodles,a huge omelette,leek tart,bean chilli,rice and peas,beet salad,potato pancakes,tomato bread,leftover curry".split(
        ",",
      ),
  },
  {
    asks: "Did you get your walk in?",
    answers: (it: string) => `Yes, along ${it} and back.`,
    question: (who: string, when: string) => `Where did ${who} walk ${when}?`,
    things:
      "the old railway,the quarry,the canal path,the cemetery wall,the pine ridge,the allotments,the harbour arm,the water tower,the long meadow,the sheep track".split(
        ",",
      ),
  },
  {
    asks: "What is playing in the background?",
    answers: (it: string) => `Oh, that is ${it}, I cannot stop.`,
    question: (who: string, when: string) => `What was ${who} listening to ${when}?`,
    things:
      "a podcast on shipwrecks,some old fado,brass band marches,a radio drama,whale song,sad country ballads,a Bach suite,football commentary,a lecture on moss,Ethiopian jazz".split(
        ",",
      ),
  },
];

export function longDialogue(seed: number): LongDialogue {
  const dice = diceOf("long dialogue", seed);
  const [first = "", second = ""] = shuffled(NAMES, dice);
  const { blocks, talk } = read(readFileSync(join(import.meta.dirname, "exchanges.txt"), "utf8"));
  const days: LongDialogue["days"] = [];
  const several = new Map<string, { question: string; evidence: number[] }>();
  const questions: Question[] = [];
  let [id, when] = [0, Date.UTC(2023, dice.int(6), 1 + dice.int(20))];
  const say = (turns: Turn[], speaker: string, words: string) => {
    id += 1;
    turns.push({ id, speaker, words });
    return id;
  };
  const swap = new Map<string, boolean>();
  const left = shuffled(blocks, dice);
  while (left.length > 0) {
    const turns: Turn[] = [];
    const date = new Date(when).toISOString().slice(0, 10);
    when += dice.between(2, 12) * 86_400_000;
    const again = dice.pick(AGAIN);
    const small = () => {
      for (let pairs = dice.between(1, 5); pairs > 0; pairs--) {
        const [a, b] = dice.pick(talk);
        const [x, y] = dice.chance(0.5) ? [first, second] : [second, first];
        const remark = () => (dice.chance(0.7) ? dice.pick(REMARKS)(dice.pick(THINGS), dice.pick(THINGS)) : "");
        say(turns, x, `${a} ${remark()}`.trim());
        say(turns, y, `${b} ${remark()} ${remark()}`.trim());
      }
    };
    const todays = left.splice(0, dice.between(2, 4));
    for (const [at, block] of todays.entries()) {
      small();
      const key = block.group ?? `alone ${left.length} ${at}`;
      if (!swap.has(key)) swap.set(key, dice.chance(0.5));
      const [a, b] = swap.get(key) ? [second, first] : [first, second];
      const evidence: number[] = [];
      for (const { who, isEvidence, words } of block.turns) {
        const turn = say(turns, who === "A" ? a : b, words);
        if (isEvidence) evidence.push(turn);
      }
      const named = (question: string) => question.replaceAll(/\bA\b/g, a).replaceAll(/\bB\b/g, b);
      if (block.group === undefined) {
        questions.push({ kind: "near", question: named(block.near), evidence });
        questions.push({ kind: "other words", question: named(block.otherWords), evidence });
      } else {
        const sofar = several.get(block.group) ?? { question: "", evidence: [] };
        const question = sofar.question || named(block.near);
        several.set(block.group, { question, evidence: [...sofar.evidence, ...evidence] });
      }
      if (at > 0) continue;
      const [teller, asker] = dice.chance(0.5) ? [first, second] : [second, first];
      say(turns, asker, again.asks);
      const said = say(turns, teller, again.answers(dice.pick(again.things)));
      questions.push({ kind: "dated", question: again.question(teller, spoken(date, dice)), evidence: [said] });
    }
    small();
    days.push({ date, turns });
  }
  for (const each of several.values()) questions.push({ kind: "several", ...each });
  const near = shuffled(
    questions.filter(({ kind }) => kind === "near"),
    dice,
  );
  while (near.length > 1) {
    const [one, two] = near.splice(0, 2);
    if (!one || !two) break;
    const question = `${one.question} And ${two.question[0]?.toLowerCase()}${two.question.slice(1)}`;
    questions.push({ kind: "several", question, evidence: [...one.evidence, ...two.evidence] });
  }
  return { days, questions };
}

/** A dialogue as files of a memory: their texts by path. */
export type Written = (dialogue: Pick<LongDialogue, "days">) => Record<string, string>;

/** The ways people write a dialogue down. */
export const FORMS = {
  "a line each": inDays(({ speaker, words }) => `${speaker}: ${words}`, "\n"),
  "a paragraph each, names bold": inDays(({ speaker, words }) => `**${speaker}**: ${words}`, "\n\n"),
  "with the time before each": inDays(({ id, speaker, words }) => `[${clock(id)}] ${speaker}: ${words}`, "\n"),
  "four turns a heading": ({ days }) =>
    files(days, ({ date, turns }) => {
      const parts = Array.from({ length: Math.ceil(turns.length / 4) }, (_, at) => turns.slice(at * 4, at * 4 + 4));
      const text = parts.map((part, at) => `## Part ${at + 1}\n\n${part.map(line).join("\n")}\n`);
      return `# ${date}\n\n${text.join("\n")}`;
    }),
  "a log entry each": ({ days }) =>
    files(days, ({ turns }) => turns.map((turn) => `## ${clock(turn.id)}\n\n${line(turn)}\n`).join("\n")),
  "one file": ({ days }) => ({
    "talks.md": days.map(({ date, turns }) => `## ${spokenDay(date)}\n\n${turns.map(line).join("\n")}\n`).join("\n"),
  }),
} satisfies Readonly<Record<string, Written>>;

const line = ({ speaker, words }: Turn) => `${speaker}: ${words}`;
const clock = (id: number) =>
  `${String(9 + (Math.floor(id / 60) % 12)).padStart(2, "0")}:${String(id % 60).padStart(2, "0")}`;

function inDays(shown: (turn: Turn) => string, seam: string) {
  return ({ days }: Pick<LongDialogue, "days">) => files(days, ({ turns }) => `${turns.map(shown).join(seam)}\n`);
}

function files(days: LongDialogue["days"], text: (day: LongDialogue["days"][number]) => string) {
  return Object.fromEntries(days.map((day) => [`${day.date}.md`, text(day)]));
}

function spokenDay(date: string): string {
  const [year, month, day] = date.split("-").map(Number);
  return `${day} ${MONTHS[(month ?? 1) - 1]}, ${year}`;
}

/** A day as people name it. */
function spoken(date: string, dice: Dice): string {
  const [year, month, day] = date.split("-").map(Number);
  const name = MONTHS[(month ?? 1) - 1];
  return dice.pick([
    `on ${day} ${name} ${year}`,
    `on ${name} ${day}, ${year}`,
    `on ${date}`,
    `on the ${day}th of ${name}`,
  ]);
}

function shuffled<T>(list: readonly T[], { int }: Dice): T[] {
  return list
    .map((item) => ({ item, at: int(1_000_000) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function read(text: string): { blocks: Block[]; talk: [string, string][] } {
  const lines = text.split("\n").filter((each) => !each.startsWith("# "));
  const talk = lines.flatMap((each): [string, string][] => {
    const [, a = "", b = ""] = /^~ A: (.*) B: (.*)$/.exec(each) ?? [];
    return a ? [[a, b]] : [];
  });
  const blocks = lines
    .filter((each) => !each.startsWith("~"))
    .join("\n")
    .split(/\n\s*\n/)
    .filter((part) => part.trim() !== "")
    .map((part): Block => {
      const all = part.trim().split("\n");
      const [, group, near = ""] = /^(?:@(\w+) )?\? ?(.*)$/.exec(all[0] ?? "") ?? [];
      const otherWords = all.find((each) => each.startsWith("?~"))?.slice(3) ?? "";
      const turns = all.filter((each) => /^[AB]\*?:/.test(each));
      return {
        group,
        near,
        otherWords,
        turns: turns.map((turn) => {
          const [, who, mark, words = ""] = /^([AB])(\*?): (.*)$/.exec(turn) ?? [];
          return { who: who === "A" ? "A" : "B", isEvidence: mark === "*", words };
        }),
      };
    });
  return { blocks, talk };
}
