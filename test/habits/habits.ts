import type { ProviderCall, ProviderTurn } from "../../src/testing/index.ts";

/**
 * What real models do that a well-behaved script does not, each with what has to come of it.
 *
 * HABITS-1. A run that ends as completed has done what was asked: no habit alone makes it a success.
 * HABITS-2. Whoever goes on with a habit is stopped within a few calls; whoever gives it up after being told comes to a
 *     good end.
 */
export interface Habit {
  /** What the model does, turn by turn; the last one for ever. By name where there are several conversations. */
  turns: readonly ProviderTurn[] | { coordinator: readonly ProviderTurn[]; worker: readonly ProviderTurn[] };
  ends: "completed" | "failed";
  summary?: string;
  error?: RegExp;
  /** So many requests at most, of everybody together. */
  within: number;
  /** What the model has read by the end. */
  hears?: RegExp;
  /** What somebody says to the agent while its first request is under way. */
  said?: string;
  /** The worker's first reply waits until the coordinator has been asked so often. */
  workerWaitsFor?: number;
  /** Wires on which it cannot be shown, with the reason in a comment. */
  not?: readonly string[];
}

const call = (name: string, args: object): ProviderCall => ({ name, args });
const calls = (...list: ProviderCall[]): ProviderTurn => ({ calls: list });
const words = (text: string): ProviderTurn => ({ text });
const FINISH = calls(call("finish", { summary: "done", learned: "" }));
const LOOK = call("list_files", {});
const WRITE = call("write_file", { path: "notes.md", content: "one\ntwo\n" });
const ORDER = call("create_work_node", { task: "Count to three." });
const COUNTED = call("write_file", { path: "scratch/count.md", content: "1 2 3" });
const PUBLISH = call("publish", { summary: "Counted." });

const NEVER_FINISHED = /never finished/;
const TAG = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>';

export const HABITS: Readonly<Record<string, Habit>> = {
  behaves: { turns: [calls(LOOK), FINISH], ends: "completed", summary: "done", within: 2 },

  "promises politely and calls nothing": {
    turns: [words("Sure, I'll continue with the next step.")],
    ends: "failed",
    error: NEVER_FINISHED,
    within: 6,
    hears: /You called no tool/,
  },
  "promises once, then works": {
    turns: [words("Certainly! Let me start by looking around."), calls(LOOK), FINISH],
    ends: "completed",
    summary: "done",
    within: 3,
  },
  "apologises for ever": {
    turns: [words("I apologize for the confusion. I'm sorry for the inconvenience.")],
    ends: "failed",
    error: /Its last words: I apologize/,
    within: 6,
  },
  "refuses for ever": {
    turns: [words("I can't help with that.")],
    ends: "failed",
    error: /Its last words: I can't help/,
    within: 6,
  },
  "answers in words and forgets finish": {
    turns: [words("The answer is 42.")],
    ends: "completed",
    summary: "The answer is 42.",
    within: 2,
  },
  "says nothing at all": {
    turns: [{}],
    ends: "failed",
    error: /neither text nor tool calls/,
    within: 3,
  },

  "writes plain tags for ever": {
    turns: [words(TAG)],
    ends: "failed",
    error: NEVER_FINISHED,
    within: 6,
    hears: /Nothing was run: you wrote about calling list_files/,
  },
  "writes a plain tag, then calls": {
    turns: [words(TAG), calls(LOOK), FINISH],
    ends: "completed",
    summary: "done",
    within: 3,
    hears: /Nothing was run/,
  },
  "writes JSON in a fence, then calls": {
    turns: [words('```json\n{"name": "list_files", "arguments": {}}\n```'), calls(LOOK), FINISH],
    ends: "completed",
    summary: "done",
    within: 3,
    hears: /Nothing was run/,
  },
  "talks about calling a tool for ever": {
    turns: [words("I will now call list_files to see what is there.")],
    ends: "failed",
    error: NEVER_FINISHED,
    within: 6,
    hears: /Make the call itself/,
  },

  "invents an argument": {
    turns: [calls(call("read_file", { pathname: "notes.md" })), FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
    hears: /There is no argument "pathname"\. Did you mean "path"\?/,
  },
  "invents a nested argument": {
    turns: [
      calls(call("launch_roles", { name: "Go", roles: [{ name: "Ann", title: "Clerk", promt: "Count." }] })),
      FINISH,
    ],
    ends: "completed",
    summary: "done",
    within: 2,
    hears: /There is no argument "promt" in roles\[0\]\. Did you mean "prompt"\?/,
  },
  "calls a tool by a wrong name": {
    turns: [calls(call("readFile", { path: "notes.md" })), FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
    hears: /There is no tool "readFile"\. Did you mean "read_file"\?/,
  },
  "sends null for what it leaves out": {
    turns: [calls(WRITE), calls(call("read_file", { path: "notes.md", offset: null, limit: null })), FINISH],
    ends: "completed",
    summary: "done",
    within: 3,
    hears: /two/,
  },
  "sends arguments inside strings": {
    turns: [
      calls(WRITE),
      calls({ name: "read_file", rawArgs: '"{\\"path\\": \\"notes.md\\", \\"limit\\": \\"2\\"}"' }),
      FINISH,
    ],
    ends: "completed",
    summary: "done",
    within: 3,
    hears: /two/,
    // Its arguments are objects: there is no string that they could be in.
    not: ["Google Gemini"],
  },
  "sends a number inside a string": {
    turns: [calls(WRITE), calls(call("read_file", { path: "notes.md", limit: "2" })), FINISH],
    ends: "completed",
    summary: "done",
    within: 3,
    hears: /two/,
  },

  "is cut off in the middle of its words": {
    turns: [{ text: "First I would like to say that", finish: "length" }, FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
    hears: /cut off at the output limit\. Go on from there in smaller pieces/,
  },
  "is cut off for ever": {
    turns: [{ text: "First I would like to say that", finish: "length" }],
    ends: "failed",
    error: NEVER_FINISHED,
    within: 6,
  },
  "is cut off in the middle of a call": {
    turns: [{ ...calls(call("write_file", { path: "long.md", content: "half" })), finish: "length" }, FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
    hears: /Not run: your reply was cut off at the output limit/,
  },
  "thinks until the output limit": {
    turns: [{ thinking: { text: "Hm.", signature: "sig" }, finish: "length" }, FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
    hears: /cut off at the output limit/,
  },
  "writes a very long text": {
    turns: [calls(call("write_file", { path: "long.md", content: "word ".repeat(60_000) })), FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
  },

  "makes many calls at once": {
    turns: [calls(...Array.from({ length: 40 }, (_, at) => call("list_files", { path: `folder-${at}` }))), FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
  },
  "makes the same call twice at once": {
    turns: [calls(WRITE, WRITE), FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
  },
  "makes the same call for ever": {
    turns: [calls(call("read_file", { path: "missing.md" }))],
    ends: "failed",
    error: /circles/,
    within: 7,
    hears: /times in a row/,
  },

  "finishes while its node is still being worked on": {
    turns: {
      coordinator: [calls(ORDER, call("finish", { summary: "too early", learned: "" })), words("I wait."), FINISH],
      worker: [calls(COUNTED, PUBLISH)],
    },
    ends: "completed",
    summary: "done",
    within: 5,
    hears: /Not finished/,
  },
  "finishes again and again while its node is still being worked on": {
    turns: { coordinator: [calls(ORDER), FINISH], worker: [calls(COUNTED, PUBLISH)] },
    workerWaitsFor: 6,
    ends: "completed",
    summary: "done",
    // Six tries before it waits, and as many again if the news was not yet the end.
    within: 20,
  },
  "checkpoints before there is anything": {
    turns: [calls(call("checkpoint", { summary: "Began." })), FINISH],
    ends: "completed",
    summary: "done",
    within: 2,
  },
  "has a worker who promises for ever": {
    turns: {
      coordinator: [calls(ORDER), words("I wait."), FINISH],
      worker: [words("Of course! I will start right away.")],
    },
    ends: "completed",
    summary: "done",
    within: 14,
    hears: /node-1 failed/,
  },
  "has a worker who writes plain tags for ever": {
    turns: { coordinator: [calls(ORDER), words("I wait."), FINISH], worker: [words(TAG)] },
    ends: "completed",
    summary: "done",
    within: 14,
    hears: /node-1 failed/,
  },
  "has a worker who writes a plain tag, then works": {
    turns: {
      coordinator: [calls(ORDER), words("I wait."), FINISH],
      worker: [words('<tool_call>{"name": "publish", "arguments": {}}</tool_call>'), calls(COUNTED, PUBLISH)],
    },
    ends: "completed",
    summary: "done",
    within: 5,
    hears: /Nothing was run: you wrote about calling publish/,
  },
  "polls while others work": {
    turns: {
      coordinator: [
        calls(ORDER),
        ...Array.from({ length: 6 }, () => calls(call("check_board", {}))),
        words("I wait."),
        FINISH,
      ],
      worker: [calls(COUNTED, PUBLISH)],
    },
    workerWaitsFor: 6,
    ends: "completed",
    summary: "done",
    within: 11,
  },
  "waits for ever although nobody is at work": {
    turns: [calls(call("check_messages", { wait: true }))],
    ends: "failed",
    error: /Going in circles: check_messages was called 6 times/,
    within: 6,
    hears: /Nobody is at work, so nothing will come\.[\s\S]*Do something else/,
  },
  "looks for messages for ever although nobody is at work": {
    turns: [calls(call("check_messages", {}))],
    ends: "failed",
    error: /Going in circles: check_messages was called 6 times/,
    within: 6,
    hears: /Nothing has changed since you last looked/,
  },
  "looks for messages while others work": {
    turns: {
      coordinator: [calls(ORDER), ...Array.from({ length: 8 }, () => calls(call("check_messages", {}))), FINISH],
      worker: [calls(COUNTED), calls(PUBLISH)],
    },
    workerWaitsFor: 6,
    ends: "completed",
    summary: "done",
    within: 14,
    hears: /to wait for it, call check_messages with wait: true/,
  },
  "polls with commands while others work": {
    turns: {
      coordinator: [
        calls(ORDER),
        ...Array.from({ length: 7 }, () => calls(call("bash", { command: "ls nodes/node-1/published" }))),
        words("I wait."),
        FINISH,
      ],
      worker: [calls(COUNTED, PUBLISH)],
    },
    workerWaitsFor: 6,
    ends: "completed",
    summary: "done",
    within: 12,
    hears: /Nothing has changed since you last looked/,
  },
  "has a role who checkpoints before there is anything": {
    turns: {
      coordinator: [
        calls(call("launch_roles", { name: "Count", roles: [{ name: "Ann", title: "Clerk", prompt: "Count." }] })),
        words("I wait."),
        words("I wait."),
        FINISH,
      ],
      worker: [calls(call("checkpoint", { summary: "Began." })), calls(COUNTED, PUBLISH)],
    },
    ends: "completed",
    summary: "done",
    within: 6,
    hears: /completed[\s\S]*Counted\./,
  },
  "ignores its mail": {
    turns: [calls(LOOK), calls(WRITE), FINISH],
    said: "Please write it in blue.",
    ends: "completed",
    summary: "done",
    within: 3,
    hears: /in blue/,
  },
};
