import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact } from "../../protocol/index.ts";
import { HumanRefusal } from "../../runtime/human/human-refusal.ts";
import { noPaint } from "../wording/paint.ts";
import { TalkLine } from "./talk-line.ts";
import type { Saying } from "./typed-line.ts";

const asked = (id: string, worker_id: string, more: object = {}): NewFact => ({
  type: "human.question",
  data: { question_id: id, worker_id, node_id: null, call_id: id, text: `What about ${id}?`, ...more },
});
const answered = (question_id: string, worker_id: string): NewFact => ({
  type: "human.response",
  data: { question_id, worker_id, text: "yes", channel: "web" },
});

/** A line over a situation that the test moves on. */
function talking(several: "first" | "named", refuse?: string, columns?: number) {
  let seq = 1;
  const fact = (fact: NewFact) => ({ seq: seq++, agent_id: "agent-test", ts: 0, ...fact }) as Fact;
  const created = {
    name: "house",
    goal: "g",
    mode: "finite",
    model: "m",
    worker_model: "m",
    budget_usd: null,
    project: null,
    tools: null,
  } as const;
  const now: Situation = begin(fact({ type: "agent.created", data: created }));
  const said: Saying[] = [];
  const notes: string[] = [];
  const talk = new TalkLine({
    now: () => now,
    say: async (saying) => {
      if (refuse) throw new HumanRefusal("conflict", refuse);
      said.push(saying);
      return "Answered.";
    },
    note: (...lines) => notes.push(...lines),
    command: (what) => notes.push(what),
    changed: () => {},
    several,
    receipts: "unexpected",
    columns: () => columns,
    paint: noPaint,
  });
  return {
    talk,
    said,
    notes,
    happens(new_fact: NewFact) {
      apply(now, fact(new_fact));
      talk.look();
    },
    type(text: string) {
      for (const letter of text) talk.press(letter, letter === "\n" ? { name: "return" } : {});
    },
  };
}

test("several questions are answered one after the other, and the line names who asks", async () => {
  const { talk, said, notes, happens, type } = talking("first");
  happens(asked("question-1", "alice", { choices: ["Yes", "No"] }));
  happens(asked("question-2", "bob"));
  expect(talk.draw(80)).toEqual([
    "? alice (and 1 more): What about question-1? · 1 Yes · 2 No",
    "answer alice › ▏ a number or your own words; /say for a message instead",
  ]);
  type("2\n");
  happens(answered("question-1", "alice"));
  expect(notes).toEqual(["? bob asks: What about question-2?"]);
  type("\n");
  expect(notes).toEqual(["? bob asks: What about question-2?", "? bob asks: What about question-2?"]);
  type("no");
  expect(talk.draw(80)).toEqual(["? bob: What about question-2?", "answer bob › no▏"]);
  type("\n");
  await talk.said;
  expect(said).toEqual([
    { do: "respond", response: "2", question_id: "question-1" },
    { do: "respond", response: "no", question_id: "question-2" },
  ]);
});

test("what is being typed goes to whom it was begun for, whatever opens or closes meanwhile", async () => {
  const { talk, said, happens, type } = talking("first");
  type("hel");
  happens(asked("question-1", "alice"));
  type("lo\n");
  type("bl");
  happens(answered("question-1", "alice"));
  happens(asked("question-2", "bob"));
  expect(talk.draw(80)[1]).toBe("answer alice › bl▏");
  type("ue\n");
  await talk.said;
  expect(said).toEqual([
    { do: "send", message: "hello" },
    { do: "respond", response: "blue", question_id: "question-1" },
  ]);
});

test("where questions are to be named, plain words answer only a single one", async () => {
  const { talk, said, happens, type } = talking("named");
  happens(asked("question-1", "alice"));
  happens(asked("question-2", "bob"));
  expect(talk.draw(80)).toEqual([
    "? 2 questions, /answer ID text: question-1 (alice), question-2 (bob)",
    "› ▏ type to talk to the coordinator, /help for more",
  ]);
  type("hello\n/answer 2 no\n");
  await talk.said;
  expect(said).toEqual([
    { do: "send", message: "hello" },
    { do: "respond", response: "no", question_id: "question-2" },
  ]);
});

test("what is refused is said, and a narrow screen is never overrun", async () => {
  const { talk, notes, happens, type } = talking("first", "It has already been answered:\nyes");
  type("hello\n");
  await talk.said;
  expect(notes).toEqual(["✗ It has already been answered:", "yes"]);
  happens(asked("question-1", "alice"));
  type("a long answer to a question");
  for (const columns of [12, 20, 33])
    for (const line of talk.draw(columns)) expect(line.length).toBeLessThanOrEqual(columns + 1);
});

test("Ctrl-C takes back what is typed first; with nothing typed it is not ours", () => {
  const { talk, said, type } = talking("first");
  expect(talk.clear()).toBe(false);
  type("never mind");
  expect(talk.clear()).toBe(true);
  type("\n");
  expect([talk.clear(), said]).toEqual([false, []]);
});

test("what was asked before somebody came is shown whole, however long", () => {
  const { talk, notes, happens } = talking("first");
  const text = `Which of these, ${"and why, ".repeat(40)}please?\nThe second line.`;
  happens(asked("question-1", "ann", { text, choices: ["red", "blue"] }));
  happens(asked("question-2", "bob"));
  talk.showOpen();
  expect(notes).toEqual([
    `? ann asks: ${text.split("\n")[0]}`,
    "  The second line.",
    "    1  red",
    "    2  blue",
    "? bob asks: What about question-2?",
  ]);
});

test("a question that is shown again breaks at words at any width, a choice under its own words", () => {
  const question = asked("question-1", "ann", {
    text: "Which of these two colours should the northern wall have?\nThe neighbours would rather not see red.",
    choices: ["a dark and rather serious red", "blue"],
  });
  const shown = (columns: number) => {
    const { talk, notes, happens } = talking("first", undefined, columns);
    happens(question);
    talk.line("");
    return notes;
  };
  expect(shown(36)).toEqual([
    "? ann asks: Which of these two",
    "  colours should the northern wall",
    "  have?",
    "  The neighbours would rather not",
    "  see red.",
    "    1  a dark and rather serious red",
    "    2  blue",
  ]);
  const words = shown(200).join(" ").split(/\s+/);
  for (let columns = 12; columns < 120; columns++) {
    const lines = shown(columns);
    expect(lines.join(" ").split(/\s+/).filter(Boolean)).toEqual(words);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  }
});

test("help and refusals break at words too", () => {
  const { talk, notes } = talking("first", undefined, 40);
  talk.line("/help");
  expect(notes.slice(0, 5)).toEqual([
    "Type to talk to the coordinator. While",
    "the line says `answer NAME`, what you",
    "type answers that question.",
    "  /say text         a message to the",
    "                    coordinator; it",
  ]);
  notes.length = 0;
  talk.line("/nobodyevercalledacommandthis");
  expect(notes).toEqual(["✗ There is no", "  /nobodyevercalledacommandthis. /help", "  lists the commands."]);
});

test("what a program wants to do is shown as it wrote it, however narrow the screen", () => {
  const { talk, notes, happens } = talking("first", undefined, 30);
  const permission = { key: "k", tool: "Bash", what: "w" };
  happens(asked("question-1", "gus", { text: "A command:\n│ rm -rf build && make all && make install", permission }));
  talk.line("");
  expect(notes).toContain("  │ rm -rf build && make all && make install");
});

test("/model has the agent go on with another model", () => {
  const { talk, said, notes } = talking("first");
  talk.line("/model openai/gpt-5");
  talk.line("/model");
  return talk.said.then(() => {
    expect(said).toEqual([{ do: "set_models", model: "openai/gpt-5" }]);
    expect(notes).toEqual(["✗ Name the model: /model provider/model"]);
  });
});
