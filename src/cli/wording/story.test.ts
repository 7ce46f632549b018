import { expect, test } from "vitest";
import { applyToRoster, type Roster } from "../../projections/index.ts";
import type { Fact, NewFact, Usage } from "../../protocol/index.ts";
import { factLine } from "./fact-line.ts";
import { noPaint } from "./paint.ts";
import { Story } from "./story.ts";
import { storyText } from "./story-text.ts";

const usage: Usage = { input: 1200, output: 80, cache_read: 0, cache_write: 0, reasoning: 0 };
const ann = { worker_id: "ann", node_id: "node-1" as const };
const think = { model: "x/y", turn: 1 };

const happened: NewFact[] = [
  {
    type: "node.created",
    data: {
      run_id: "run-1",
      node_id: "node-1",
      task: "Survey the docs\n\nAll of them.",
      inference: "multi",
      dependencies: [],
      refs: {},
      deliverables: [],
      parent_node_id: null,
      created_by: "coordinator",
    },
  },
  { type: "node.started", data: ann },
  { type: "model.called", data: { ...ann, ...think } },
  {
    type: "model.failed",
    data: { ...ann, ...think, reason: "rate_limited", status: 429, message: "slow down", retry_in_ms: 2000 },
  },
  { type: "model.responded", data: { ...ann, ...think, usage, cost_usd: 0.02, finish: "tool-calls", ms: 1500 } },
  { type: "tool.called", data: { ...ann, call_id: "c1", tool: "read_file", gist: "docs/a.md" } },
  { type: "tool.called", data: { ...ann, call_id: "c2", tool: "read_file", gist: "docs/\u001b[2Jb.md" } },
  { type: "tool.result", data: { ...ann, call_id: "c1", tool: "read_file", ok: true, ms: 4, gist: "# A" } },
  {
    type: "tool.result",
    data: { ...ann, call_id: "c2", tool: "read_file", ok: false, ms: 1, gist: "There is no docs/b.md." },
  },
  { type: "node.completed", data: { ...ann, summary: "One document.\nIt is short." } },
];

const facts = happened.map((fact, i) => ({ seq: i + 1, agent_id: "agent-test", ts: 0, ...fact }) as Fact);

test("the story names who does what, how each call ended, and what the work cost", () => {
  const story = new Story(() => ({}));
  const [before, after] = [facts.slice(0, 4), facts.slice(4)];
  const lines = [
    ...before.flatMap((fact) => story.tell(fact)),
    ...story.hear({ worker_id: "ann", kind: "reasoning", text: "hmm\n" }),
    ...story.hear({ worker_id: "ann", kind: "text", text: "I read both.\n  Then I" }),
    ...after.flatMap((fact) => story.tell(fact)),
  ];
  expect(lines.flatMap((line) => storyText(line, undefined, noPaint))).toEqual([
    "node-1      + Survey the docs",
    "node-1      ▸ ann",
    "ann         ! got no reply from x/y, rate limited: slow down (tries again in 2.0 s)",
    "ann         │ I read both.",
    "ann         │   Then I",
    "ann         ✓ read_file docs/a.md 4 ms",
    "ann         ✗ read_file docs/b.md — There is no docs/b.md.",
    "node-1      ✓ ann: One document. ($0.02)",
  ]);
});

test("words of a reply that broke off are not glued to those of the next try", () => {
  const story = new Story(() => ({}));
  const failed = facts.find(({ type }) => type === "model.failed");
  if (!failed) throw new Error("There is a failed call.");
  const said = (text: string) => story.hear({ worker_id: "ann", kind: "text", text });
  const lines = [...said("I rea"), ...story.tell(failed), ...said("I read both.\n")];
  expect(lines.flatMap((line) => storyText(line, undefined, noPaint))).toEqual([
    "ann         │ I rea … (broke off)",
    "ann         ! got no reply from x/y, rate limited: slow down (tries again in 2.0 s)",
    "ann         │ I read both.",
  ]);
});

test("on a terminal words wrap under each other and are all there; other lines are cut", () => {
  const words = storyText({ who: "coordinator", mark: "says", text: "one two three four five six" }, 30, noPaint);
  const call = storyText(
    { who: "a-worker-with-a-long-name", mark: "done", text: "read_file some/very/long/path.md" },
    30,
    noPaint,
  );
  const path = storyText({ who: "", mark: "asks", text: "into /home/alice/scratch, then" }, 30, noPaint);
  expect([...words, ...call, ...path]).toEqual([
    "coordinator │ one two three",
    "              four five six",
    "a-worker-w… ✓ read_file some/…",
    "            ? into",
    "              /home/alice/scratch,",
    "              then",
  ]);
});

test("every fact is one readable line", () => {
  expect(facts.map(factLine)).toEqual([
    "coordinator created node-1: Survey the docs",
    "ann begins node-1",
    "ann thinks, turn 1 (node-1, x/y)",
    "ann got no reply from x/y, rate limited (node-1, rate_limited): slow down (tries again in 2.0 s)",
    "ann replied, 1.3k tokens (node-1, turn 1, 1.2k in, 80 out, $0.02, 1.5 s)",
    "ann calls read_file (node-1): docs/a.md",
    "ann calls read_file (node-1): docs/b.md",
    "ann ran read_file (node-1, 4 ms): # A",
    "ann ran read_file, which failed (node-1, 1 ms): There is no docs/b.md.",
    "ann finished node-1: One document.",
  ]);
});

test("a fact of a kind that this version does not know is shown as it is", () => {
  const later = { seq: 1, agent_id: "agent-test", ts: 0, type: "dream.dreamt", data: { name: "m" } } as unknown as Fact;
  expect(factLine(later)).toBe('{"name":"m"}');
});

const run = { run_id: "run-1" as const };
const contract = { max_iterations_per_node: 40, timeout_seconds: 60, checkpoint_policy: "any" as const };
const teamwork: NewFact[] = [
  { type: "stage.started", data: { ...run, stage: 2, name: "Synthesis", contract } },
  {
    type: "worker.spawned",
    data: { ...run, worker_id: "ann", name: "Ann", kind: "harnessed", model: "x/y", identity: "A chemist." },
  },
  { type: "node.reserved", data: ann },
  { type: "worker.waiting", data: { ...ann, for: "children" } },
  { type: "worker.waiting", data: { ...ann, for: "budget" } },
  { type: "message.sent", data: { message_id: "msg-1", from: "ann", to: "*", text: "It works.", file: "f", hops: 1 } },
  { type: "message.forwarded", data: { message_id: "msg-1", to: "coordinator" } },
  { type: "message.expired", data: { message_id: "msg-1", why: "the run has ended" } },
  { type: "suggestion.made", data: { ...ann, suggestion: "measure chip B too" } },
  { type: "worker.checkpointed", data: { ...ann, summary: "Half is done." } },
  { type: "node.retried", data: { ...ann, error: "no such key" } },
  { type: "tool.called", data: { ...ann, call_id: "c9", tool: "publish", gist: "done" } },
  { type: "tool.result", data: { ...ann, call_id: "c9", tool: "publish", ok: true, ms: 1, gist: "" } },
  { type: "stage.reconvened", data: { ...run, stage: 2, assessment: "We know enough." } },
  { type: "worker.briefed", data: { worker_id: "ann", identity: "Now a writer." } },
  { type: "worker.retired", data: { worker_id: "ann" } },
  { type: "stage.completed", data: { ...run, stage: 2 } },
  { type: "process.started", data: { ...ann, pid: 7, command: "make", sandbox: "bubblewrap" } },
  { type: "process.exited", data: { ...ann, pid: 7, code: 0, signal: null } },
];
const teamFacts = teamwork.map((fact, i) => ({ seq: i + 1, agent_id: "agent-test", ts: 0, ...fact }) as Fact);

test("the story of a team: stages, who comes and goes, what they tell each other; a call that is a fact is told once", () => {
  const roster: Roster = {};
  const story = new Story(() => roster);
  const lines = teamFacts.flatMap((fact) => {
    applyToRoster(roster, fact);
    return story.tell(fact);
  });
  expect(lines.flatMap((line) => storyText(line, undefined, noPaint))).toEqual([
    "Stage 2     ═ Synthesis (any one must complete)",
    "Ann         + joined: A chemist. (x/y)",
    "Ann         ! waits for room in the budget",
    "Ann         → everyone: It works.",
    "Ann         → suggests: measure chip B too",
    "Ann         → reached a checkpoint: Half is done.",
    "node-1      ! Ann tries it again: no such key",
    "Stage 2     ✓ was reviewed: We know enough.",
    "Ann         ▸ has a new brief: Now a writer.",
    "Ann         - was retired",
  ]);
});

test("what a team does is readable in the log, fact by fact", () => {
  expect(teamFacts.map(factLine)).toEqual([
    "Stage 2 begins (at most 40 turns and 60 s per node): Synthesis (any one must complete)",
    "Ann joined (ann, harnessed): A chemist. (x/y)",
    "node-1 is reserved for ann",
    "ann waits for its sub-nodes (node-1)",
    "ann waits for room in the budget (node-1)",
    "ann writes to everyone (msg-1): It works.",
    "msg-1 was forwarded to coordinator",
    "msg-1 will not be read: the run has ended",
    "ann suggests (node-1): measure chip B too",
    "ann reached a checkpoint (node-1): Half is done.",
    "ann tries node-1 again: no such key",
    "ann calls publish (node-1): done",
    "ann ran publish (node-1, 1 ms)",
    "Stage 2 was reviewed: We know enough.",
    "ann has a new brief: Now a writer.",
    "ann was retired",
    "Stage 2 is complete",
    "ann starts a command (node-1, pid 7, bubblewrap): make",
    "ann finished a command (node-1, pid 7): code 0",
  ]);
});

test("what everyone in the team comes upon is told once: a spent budget, until it is raised, and the same warning", () => {
  const spent: NewFact = { type: "budget.exceeded", data: { spent_usd: 1, budget_usd: 1 } };
  const warned = (message: string): NewFact => ({ type: "model.warned", data: { ...ann, model: "x/y", message } });
  const raised: NewFact = { type: "budget.set", data: { budget_usd: 2 } };
  const facts: NewFact[] = [spent, spent, raised, spent, spent, warned("a"), warned("a"), warned("b")];
  const story = new Story(() => ({}));
  const told = facts.map((fact) => story.tell({ seq: 1, agent_id: "agent-test", ts: 0, ...fact } as Fact).length);
  expect(told).toEqual([1, 0, 0, 1, 0, 1, 0, 1]);
});

test("what concerns the person stands out: questions with their choices, messages line by line; said aloud is not told twice", () => {
  const human: NewFact[] = [
    {
      type: "human.question",
      data: {
        question_id: "question-1",
        ...ann,
        call_id: "c9",
        text: "Which colour?\n\nIt is \u001b[31moak.",
        choices: ["Blue", "Red"],
        deadline_ts: 0,
        default: "Blue",
      },
    },
    { type: "worker.waiting", data: { ...ann, for: "human" } },
    { type: "human.response", data: { question_id: "question-1", worker_id: "ann", text: "Red", channel: "terminal" } },
    {
      type: "human.response",
      data: { question_id: "question-2", worker_id: "ann", text: "Blue", channel: "deadline" },
    },
    {
      type: "human.response",
      data: { question_id: "question-3", worker_id: "human", text: "done", channel: "terminal" },
    },
    { type: "human.nudge", data: { text: "Faster.", channel: "terminal" } },
    {
      type: "message.sent",
      data: { message_id: "msg-1", from: "ann", to: "human", text: "It dries.\n  Do not touch.", file: "", hops: 1 },
    },
    {
      type: "message.sent",
      data: { message_id: "msg-2", from: "ann", to: "human", text: "Hello.", file: "", hops: 1, aloud: true },
    },
    { type: "run.started", data: { run_id: "run-2", goal: "The fence\ntoo" } },
  ];
  const told = human.map((fact, i) => ({ seq: i + 1, agent_id: "agent-test", ts: 0, ...fact }) as Fact);
  const story = new Story(() => ({}));
  const lines = told.flatMap((fact) => story.tell(fact)).flatMap((line) => storyText(line, undefined, noPaint));
  expect(lines).toEqual([
    "ann         ? Which colour?",
    "            ? It is ⟨U+001B⟩[31moak.",
    "            ?   1  Blue",
    "            ?   2  Red",
    expect.stringMatching(/^ {12}\? {3}until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, then: Blue$/),
    "you         → ann: Red",
    "ann         ! got no answer in time and continues with the default: Blue",
    "you         → Agiraph: done",
    "you         → coordinator: Faster.",
    "ann         » It dries.",
    "            »   Do not touch.",
    "run-2       ▸ The fence",
  ]);
  expect(told.slice(0, 6).map(factLine)).toEqual([
    "ann asks you (question-1, Blue | Red): Which colour?",
    "ann waits for you (node-1)",
    "You answered ann (question-1, by terminal): Red",
    "ann got no answer in time and continues with the default (question-2): Blue",
    "You said (question-3, by terminal): done",
    "You gave a hint (by terminal): Faster.",
  ]);
});
