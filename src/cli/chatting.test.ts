import { expect, test } from "vitest";
import { agiraph, CliProcess } from "./testing/cli-process.ts";
import { askHuman, finish, lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, run, start, standing } = scriptedAgent();

test("chat by lines: the conversation so far, what is typed answers and goes on here, and its words come as they are said", async () => {
  await scripted([
    askHuman({ question: "Which colour?", choices: ["Blue", "Red"] }),
    { text: "Red it is.", calls: [{ name: "ask_human", args: { question: "And the door?" } }] },
    finish("All is red."),
  ]);
  expect((await run()).code).toBe(3);
  const first = await agiraph(["chat", "paint"], { ...options(), stdin: "2\n" });
  expect({ code: first.code, stdout: first.stdout.split("\n"), words: lines(first) }).toEqual({
    code: 3,
    stdout: [
      "you         → Paint the house",
      "coordinator ? Which colour? (question-1)",
      "            ?   1  Blue",
      "            ?   2  Red",
      "you         → Red",
      "coordinator » Red it is.",
      "coordinator ? And the door? (question-2)",
      "",
    ],
    words: [
      "Answered.",
      "coordinator asks (question-2):",
      "  And the door?",
      "  Answer: agiraph answer ID 'your answer'",
    ],
  });
  expect(await standing()).toEqual(["waiting_for_human"]);
  const second = await agiraph(["chat", "paint"], { ...options(), stdin: "/dance\nred too\n" });
  expect({ code: second.code, stdout: second.stdout.split("\n").slice(-4), words: lines(second) }).toEqual({
    code: 0,
    stdout: ["coordinator ? And the door? (question-2)", "you         → red too", "coordinator » All is red.", ""],
    words: ["✗ There is no /dance. /help lists the commands.", "Answered."],
  });
  const all = await agiraph(["chat", "paint", "--all", "--json"], { ...options(), stdin: "" });
  const said = all.stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  expect(said.map(({ from, text }) => [from, text])).toEqual([
    ["human", "Paint the house"],
    ["coordinator", "Which colour?"],
    ["human", "Red"],
    ["coordinator", "And the door?"],
    ["human", "red too"],
    ["coordinator", "All is red."],
  ]);
});

test("a stopped agent goes on in the chat when it is spoken to; what it says aloud is shown once", async () => {
  const provider = await scripted([
    { hold: "thought", text: "Hello, I am here.", calls: [{ name: "list_files", args: { path: "" } }] },
    finish("Done."),
  ]);
  const running = start();
  await provider.reached("thought");
  await call("stop", "paint");
  await running.ended;
  provider.release("thought");
  const chatted = await agiraph(["chat", "paint"], { ...options(), stdin: "Hello?\n" });
  expect({ code: chatted.code, stdout: chatted.stdout.split("\n") }).toEqual({
    code: 0,
    stdout: [
      "you         → Paint the house",
      "you         → Hello?",
      "coordinator » Hello, I am here.",
      "coordinator » Done.",
      "",
    ],
  });
  expect((await call("inbox", "--unread")).stdout).toContain("Hello, I am here.");
});

test("chat beside the process that works: it hears what is said there, and is heard", async () => {
  const provider = await scripted([
    { hold: "begun", calls: [{ name: "list_files", args: { path: "" } }] },
    {
      text: "I mind it.\nThe cat is in the garden, where nobody paints today.",
      holdMidway: "heard",
      calls: [{ name: "list_files", args: { path: "" } }],
    },
    finish("Done."),
  ]);
  const running = start();
  await provider.reached("begun");
  const chatting = new CliProcess(["chat", "paint"], options());
  await chatting.saw("→ Paint the house");
  chatting.type("Mind the cat.\n");
  await chatting.saw("you         → Mind the cat.");
  provider.release("begun");
  await provider.reached("heard");
  // As it is being said: the rest has not come yet.
  await chatting.saw("coordinator » I mind it.");
  provider.release("heard");
  await chatting.saw("coordinator » Done.");
  expect((await running.ended).code).toBe(0);
  chatting.signal("SIGINT");
  const { code, stdout } = await chatting.ended;
  expect({ code, stdout: stdout.split("\n") }).toEqual({
    code: 130,
    stdout: [
      "you         → Paint the house",
      "you         → Mind the cat.",
      "coordinator » I mind it.",
      "coordinator » The cat is in the garden, where nobody paints today.",
      "coordinator » Done.",
      "",
    ],
  });
});
