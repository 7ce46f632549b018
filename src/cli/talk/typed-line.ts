import { nearest } from "../../boundary/nearest.ts";
import type { Question, Situation } from "../../projections/index.ts";
import type { CommandToAgent } from "../../protocol/commands.ts";
import { own } from "../../protocol/dict.ts";
import { LONGEST_WORDS } from "../../protocol/words.ts";
import { plain } from "../wording/width.ts";

/** What a person says to the team, or which model they choose for it. */
export type Saying = CommandToAgent<"send" | "respond" | "nudge" | "set_models">;

/** The meaning of a line that a person typed. */
export type Typed =
  | { kind: "say"; saying: Saying }
  /** Nothing was said to a question that has no default. */
  | { kind: "ask_again" }
  | { kind: "nothing" | "board" | "stop" | "help" | "quit" }
  | { kind: "wrong"; why: string };

/** `question` is the one that plain text answers; without one the text goes to the coordinator. */
export function meaningOf(line: string, question: Question | undefined): Typed {
  const text = line.trim();
  if (text.length > LONGEST_WORDS) return wrong(`At most ${LONGEST_WORDS} characters can be said at once.`);
  // A path is not a command: /etc/hosts.
  const [, command, rest = ""] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/u.exec(text) ?? [];
  if (command !== undefined) return own(COMMANDS, command)?.(rest) ?? wrong(unknownCommand(command));
  const words = text.startsWith("//") ? text.slice(1) : text;
  if (!question) return words === "" ? { kind: "nothing" } : { kind: "say", saying: { do: "send", message: words } };
  const answer = words === "" ? question.default : words;
  if (answer === undefined || answer === "") return { kind: "ask_again" };
  return { kind: "say", saying: { do: "respond", response: answer, question_id: question.id } };
}

export const HELP = [
  "Type to talk to the coordinator. While the line says `answer NAME`, what you type answers that question.",
  "  /say text         a message to the coordinator; it answers no question",
  "  /to NAME text     a message to a worker; * is everyone",
  "  /answer ID text   answer one of several open questions",
  "  /nudge text       a hint that need not be answered",
  "  /model P/M        continue with another model, e.g. /model openai/gpt-5",
  "  /board            the work, node by node",
  "  /stop             stop the agent; everything is kept",
  "  /quit             leave",
  "To send a line that begins with /, type //. Tab completes names.",
];

function unknownCommand(name: string): string {
  const [near] = nearest(name, Object.keys(COMMANDS), 1);
  return `There is no /${name}.${near ? ` Did you mean /${near}?` : ""} /help lists the commands.`;
}

const COMMANDS: Readonly<Record<string, (rest: string) => Typed>> = {
  say: (rest) =>
    rest === "" ? wrong("Add what to say: /say TEXT") : { kind: "say", saying: { do: "send", message: rest } },
  to: (rest) =>
    addressed(rest, "Add a name and what to say: /to NAME TEXT", (to, text) => ({
      do: "send",
      message: text,
      to: to.replace(/[:,]$/, ""),
    })),
  answer: (rest) =>
    addressed(rest, "Name the question and your answer: /answer ID text", (id, text) => ({
      do: "respond",
      response: text,
      question_id: /^\d+$/.test(id) ? `question-${id}` : id,
    })),
  nudge: (rest) =>
    rest === "" ? wrong("Add what to say: /nudge TEXT") : { kind: "say", saying: { do: "nudge", message: rest } },
  model: (rest) =>
    /^\S+$/u.test(rest)
      ? { kind: "say", saying: { do: "set_models", model: rest } }
      : wrong("Name the model: /model provider/model"),
  board: () => ({ kind: "board" }),
  stop: () => ({ kind: "stop" }),
  help: () => ({ kind: "help" }),
  quit: () => ({ kind: "quit" }),
};

function addressed(rest: string, usage: string, saying: (whom: string, text: string) => Saying): Typed {
  const [, whom, text] = /^(\S+)\s+([\s\S]+)$/u.exec(rest) ?? [];
  return whom === undefined || text === undefined ? wrong(usage) : { kind: "say", saying: saying(whom, text) };
}

function wrong(why: string): Typed {
  return { kind: "wrong", why };
}

/** Possible completions of this line: commands, names of the team, open questions. */
export function completionsOf(line: string, { roster, questions }: Pick<Situation, "roster" | "questions">): string[] {
  const [, command, whom] = /^\/([a-z]*)(?:\s+(\S*))?$/u.exec(line) ?? [];
  if (command === undefined) return [];
  if (whom === undefined) {
    return Object.keys(COMMANDS)
      .filter((name) => name.startsWith(command))
      .map((name) => `/${name} `);
  }
  const there =
    command === "to"
      ? Object.values(roster)
          .filter((worker) => worker.status !== "retired")
          .map(({ id, spawned }) => (/^\S+$/u.test(plain(spawned.name)) ? plain(spawned.name) : id))
      : command === "answer"
        ? Object.keys(questions.open)
        : [];
  const isMeant = (name: string) => name.toLowerCase().startsWith(whom.toLowerCase());
  return there.filter(isMeant).map((name) => `/${command} ${name} `);
}

/** The prefix that all of them share. */
export function commonStart(lines: readonly string[]): string {
  const [first = "", ...others] = lines;
  let end = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, end))) end -= 1;
  return first.slice(0, end);
}
