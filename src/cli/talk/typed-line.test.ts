import { expect, test } from "vitest";
import type { Question, Roster, Situation } from "../../projections/index.ts";
import { LONGEST_WORDS } from "../../protocol/words.ts";
import { commonStart, completionsOf, meaningOf } from "./typed-line.ts";

const question: Question = {
  id: "question-3",
  worker_id: "alice",
  node_id: "node-1",
  call_id: "c1",
  text: "Which colour?",
  asked_ts: 0,
  answer: null,
};

test("plain words answer the open question, and go to the coordinator where there is none", () => {
  expect([meaningOf(" blue ", question), meaningOf("hello", undefined), meaningOf(" ", undefined)]).toEqual([
    { kind: "say", saying: { do: "respond", response: "blue", question_id: "question-3" } },
    { kind: "say", saying: { do: "send", message: "hello" } },
    { kind: "nothing" },
  ]);
});

test("an empty line takes the default; without one it is asked again", () => {
  expect([meaningOf("", { ...question, default: "Red" }), meaningOf("", question)]).toEqual([
    { kind: "say", saying: { do: "respond", response: "Red", question_id: "question-3" } },
    { kind: "ask_again" },
  ]);
});

test.each([
  ["/to Bob go on\nslowly", { kind: "say", saying: { do: "send", message: "go on\nslowly", to: "Bob" } }],
  ["/to * all of you", { kind: "say", saying: { do: "send", message: "all of you", to: "*" } }],
  ["/answer 2 green", { kind: "say", saying: { do: "respond", response: "green", question_id: "question-2" } }],
  ["/nudge faster", { kind: "say", saying: { do: "nudge", message: "faster" } }],
  ["/board", { kind: "board" }],
  ["/stop", { kind: "stop" }],
  ["/quit", { kind: "quit" }],
  ["/help", { kind: "help" }],
  ["/to Bob", { kind: "wrong", why: "Add a name and what to say: /to NAME TEXT" }],
  ["/answer", { kind: "wrong", why: "Name the question and your answer: /answer ID text" }],
  ["/nudge", { kind: "wrong", why: "Add what to say: /nudge TEXT" }],
  ["/dance", { kind: "wrong", why: "There is no /dance. /help lists the commands." }],
  ["/etc/hosts is wrong", { kind: "say", saying: { do: "send", message: "/etc/hosts is wrong" } }],
  ["//stop", { kind: "say", saying: { do: "send", message: "/stop" } }],
])("%s", (line, typed) => {
  expect(meaningOf(line, undefined)).toEqual(typed);
});

test("more than can be said at once is refused before it is sent", () => {
  expect(meaningOf("x".repeat(LONGEST_WORDS + 1), undefined)).toEqual({
    kind: "wrong",
    why: "At most 32000 characters can be said at once.",
  });
});

test("/say is a message also while a question is open", () => {
  const asked = { id: "question-1", worker_id: "alice", text: "Which?" } as Question;
  expect([meaningOf("/say Mind the doors", asked), meaningOf("Blue", asked)]).toEqual([
    { kind: "say", saying: { do: "send", message: "Mind the doors" } },
    { kind: "say", saying: { do: "respond", response: "Blue", question_id: "question-1" } },
  ]);
});

test("Tab knows the commands, the team and the open questions", () => {
  const worker = (id: string, name: string) => ({ id, status: "idle", spawned: { name } }) as Roster[string];
  const now = {
    roster: { alice: worker("alice", "Alice"), albert: worker("albert", "Albert"), "bo-li": worker("bo-li", "Bo Li") },
    questions: { asked: 3, open: { "question-3": question }, answered: {}, settled: [] },
  } satisfies Pick<Situation, "roster" | "questions">;
  expect(
    ["/n", "/to al", "/to b", "/to Alice he", "/answer ", "hello", "/"].map((line) => completionsOf(line, now)),
  ).toEqual([
    ["/nudge "],
    ["/to Alice ", "/to Albert "],
    ["/to bo-li "],
    [],
    ["/answer question-3 "],
    [],
    ["/say ", "/to ", "/answer ", "/nudge ", "/model ", "/board ", "/stop ", "/help ", "/quit "],
  ]);
  expect([commonStart(["/to Alice ", "/to Albert "]), commonStart(["/nudge "])]).toEqual(["/to Al", "/nudge "]);
});
