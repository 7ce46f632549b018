import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CliProcess } from "./testing/cli-process.ts";
import { askHuman, finish, lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, run, start, standing } = scriptedAgent();

test("where nobody can answer, the question and the command to answer it are said, with code 3; that command goes on", async () => {
  const provider = await scripted([
    askHuman({ question: "Which colour?\nThe door too?", choices: ["Blue", "Red"] }),
    finish("The house is blue."),
  ]);
  const asked = await run();
  expect({ code: asked.code, words: lines(asked).slice(-11), standing: await standing() }).toEqual({
    code: 3,
    words: [
      "coordinator ? Which colour?",
      "            ? The door too?",
      "            ?   1  Blue",
      "            ?   2  Red",
      "? paint-house waits for you after 1 model call, $0, M:SS.",
      "coordinator asks (question-1):",
      "  Which colour?",
      "  The door too?",
      "    1  Blue",
      "    2  Red",
      "  Answer: agiraph answer ID 'your answer'",
    ],
    standing: ["waiting_for_human"],
  });

  const slip = await call("answer", "paint", "7");
  expect([slip.code, lines(slip)]).toEqual([1, ["✗ question-1 has no choice 7: give 1 to 2, or your own words."]]);

  const answered = await call("answer", "paint", "1");
  expect({ code: answered.code, result: answered.stdout.split("\n")[0], words: lines(answered).slice(0, 2) }).toEqual({
    code: 0,
    result: "The house is blue.",
    words: ["paint-house (ID): Answered.", "you         → coordinator: Blue"],
  });
  // What this command took, and what the agent took in all.
  expect(lines(answered).at(-1)).toMatch(
    /^✓ paint-house has finished: 1 model call, \$0, M:SS \(2 calls, \$0 in all\)\. /,
  );
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("Your human answers: Blue");
  provider.assertDone();
});

test("a home whose agent waits for its human is in use too, and says by whom; a number may be what was asked for", async () => {
  await scripted([
    askHuman({ question: "How many doors?", choices: ["1 door", "3 doors"], deadline_seconds: 600, default: "1" }),
    finish("Painted."),
  ]);
  const waiting = start();
  await waiting.saw("How many doors?");
  const second = await run("--unsafe-no-sandbox");
  expect(second.stderr).toMatch(
    new RegExp(`is in use by pid ${waiting.pid} \\(agiraph run, since [\\d :-]+\\), which works on`),
  );
  expect([second.code, lines(second)]).toEqual([
    1,
    [expect.stringContaining("which works on paint-house (ID). Other commands join it automatically")],
  ]);
  expect((await call("answer", "paint", "7")).code).toBe(0);
  expect(lines(await waiting.ended)).toContain("you         → coordinator: 7");
});

test("what cannot be answered or sent is refused in words, and nothing changes", async () => {
  await scripted({
    "Paint the house": [
      {
        calls: [
          { name: "create_work_node", args: { task: "Paint the door" } },
          { name: "create_work_node", args: { task: "Paint the roof" } },
        ],
      },
      { text: "I wait." },
    ],
    "Paint the door": [askHuman({ question: "Which colour for the door?" })],
    "Paint the roof": [askHuman({ question: "Which colour for the roof?" })],
  });
  expect((await run()).code).toBe(3);
  const before = (await call("logs", "paint")).stdout;
  const refused = await Promise.all([
    call("answer", "paint", "blue"),
    call("answer", "paint", "blue", "--question", "9"),
    call("answer", "paint", "  "),
    call("answer", "nobody", "blue"),
    call("send", "paint", "x".repeat(32_001)),
  ]);
  expect(refused.map(({ code }) => code)).toEqual([1, 1, 2, 1, 2]);
  const [several, unknown, empty, nobody, long] = refused.map(({ stderr }) => stderr);
  expect(several).toContain("paint-house has 2 open questions. Say which with --question:\n");
  expect(several).toMatch(/question-[12] \(alice\): Which colour for the (door|roof)\?\n/);
  expect(unknown).toBe('✗ There is no question "question-9". Open: question-1, question-2.\n');
  expect(empty).toContain("The message is empty.");
  expect(nobody).toContain('There is no agent "nobody"');
  expect(long).toContain("at most 32000");
  const stranger = await call("send", "paint", "hello", "--to", "Zoe", "--json");
  expect({ code: stranger.code, error: JSON.parse(stranger.stdout).error }).toEqual({
    code: 1,
    error: { code: "not_found", message: expect.stringContaining("Zoe") },
  });
  expect((await call("logs", "paint")).stdout).toBe(before);
});

test("what needs you is seen everywhere one looks, and the inbox has it over all agents with its command", async () => {
  await scripted({
    "Paint the house": [
      { text: "I let it be painted.", calls: [{ name: "create_work_node", args: { task: "Paint the door" } }] },
      { text: "I wait." },
    ],
    "Paint the door": [
      { calls: [{ name: "send_message", args: { to: "human", content: "I begin." } }] },
      askHuman({ question: "Which \u001b[31mcolour?", choices: ["Blue", "Red"] }),
    ],
  });
  expect((await call("inbox")).stderr).toBe("Nothing waits for you.\n");
  expect((await run()).code).toBe(3);
  const pages = await Promise.all(
    [["ls"], ["show", "paint"], ["board", "paint"], ["workers", "paint"], ["inbox"], ["logs", "paint"]].map((words) =>
      call(...words),
    ),
  );
  const [ls, show, board, workers, inbox, logs] = pages.map(({ stdout }) => stdout.replace(/agent-\w{8}/g, "ID"));
  expect(ls).toMatch(/paint-house +ID +needs you /);
  expect(show).toContain("Status   needs you\n");
  expect(show).toContain(
    "Needs you\nAlice asks (question-1):\n  Which ⟨U+001B⟩[31mcolour?\n    1  Blue\n    2  Red\n  Answer: agiraph answer ID 'your answer'\n",
  );
  expect(board).toContain("node-1  needs you  Alice   Paint the door — asks: Which colour?\n");
  expect(workers).toMatch(/^Alice +needs you \(question-1\) /m);
  expect(logs).toMatch(/human\.question +alice asks you \(question-1, Blue \| Red\): Which colour\?\n/);
  expect(inbox?.replace(/\d+s ago/g, "Ns ago").split("\n")).toEqual([
    "? paint-house · Alice · question-1 · Ns ago",
    "  Which ⟨U+001B⟩[31mcolour?",
    "    1  Blue",
    "    2  Red",
    "  agiraph answer ID 'your answer' --question question-1",
    "",
  ]);
  expect(pages[4]?.stderr).toBe(
    "2 unread messages · show: agiraph inbox --unread · mark read: agiraph inbox --mark-read\n",
  );
  const items = (await call("inbox", "--unread", "--json")).stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  expect(items.map(({ kind, from, choices }) => ({ kind, from: from.name, choices }))).toEqual(
    expect.arrayContaining([
      { kind: "message", from: "Alice", choices: [] },
      { kind: "question", from: "Alice", choices: ["Blue", "Red"] },
    ]),
  );
});

test("a remark does not wait for anybody: the inbox says that it is unread, shows it when asked to, and marks it read", async () => {
  await scripted([
    { calls: [{ name: "send_message", args: { to: "human", content: "I begin." } }] },
    { calls: [{ name: "finish", args: { summary: "Done." } }] },
  ]);
  expect((await run()).code).toBe(0);
  const seen = await call("inbox", "--unread");
  expect(seen.stdout).toContain("  I begin.\n");
  expect(seen.stderr).toBe("1 unread message · mark read: agiraph inbox --mark-read\n");
  expect((await call("inbox", "--mark-read")).stderr).toBe("1 message read.\n");
  expect((await call("inbox")).stderr).toBe("Nothing waits for you.\n");
});

test("another terminal talks to the process that works: messages, hints and answers arrive there", async () => {
  const provider = await scripted([
    { hold: "thought", calls: [{ name: "list_files", args: { path: "" } }] },
    // With a deadline it goes on by itself: the process stays.
    askHuman({ question: "Which colour?", deadline_seconds: 600 }),
    finish("Blue it is."),
  ]);
  const running = start("--json");
  await provider.reached("thought");
  const sent = await call("send", "paint", "Mind the cat.", "--json");
  const nudged = await call("nudge", "paint", "Use the small brush.");
  const early = await call("answer", "paint", "blue", "--json");
  expect({ sent: JSON.parse(sent.stdout), nudged: nudged.stderr, early: JSON.parse(early.stdout) }).toEqual({
    sent: { id: expect.any(String), name: "paint-house", message: "Sent to coordinator." },
    nudged: "paint-house: The coordinator hears it before its next turn.\n",
    early: {
      error: {
        code: "conflict",
        message: 'paint-house has no open question. To write to it: agiraph send paint-house "your message"',
      },
    },
  });
  provider.release("thought");
  await running.saw("human.question");
  const answered = await call("answer", "paint", "blue");
  expect({ said: answered.stderr, code: (await running.ended).code }).toEqual({
    said: "paint-house: Answered.\n",
    code: 0,
  });
  expect(JSON.stringify(provider.requests[1]?.body)).toContain("Mind the cat.");
  expect(JSON.stringify(provider.requests[1]?.body)).toContain("Use the small brush.");
  expect(await standing()).toEqual(["completed"]);
});

test("a finished agent takes what is sent as its next goal, here or in the background", async () => {
  await scripted([finish("One."), finish("Two."), finish("Three.")]);
  expect((await run()).code).toBe(0);
  const second = await call("send", "paint", "Now the fence.");
  expect({ code: second.code, result: second.stdout.split("\n")[0], words: lines(second).slice(0, 2) }).toEqual({
    code: 0,
    result: "Two.",
    words: ["paint-house (ID): paint-house takes it as its next goal.", "run-2       ▸ Now the fence."],
  });
  const detached = await call("send", "paint", "And the gate.", "--detach", "--json");
  const { id } = JSON.parse(detached.stdout);
  const following = new CliProcess(["logs", id, "-f"], options());
  await following.saw("Three.");
  following.signal("SIGINT");
  await following.ended;
  expect({ code: detached.code, standing: await standing() }).toEqual({ code: 0, standing: ["completed"] });
});

test("work that is given to you is in your inbox; you put files into its folder and publish it", async () => {
  await scripted([
    { calls: [{ name: "create_work_node", args: { task: "Sign it.", deliverables: ["a.md"], worker: "human" } }] },
    { text: "I wait for the signature." },
    finish("Signed."),
  ]);
  const parked = await run();
  const inbox = (await call("inbox")).stdout;
  const [, folder = ""] = /Put the files into (\S+),/.exec(inbox) ?? [];
  const early = await call("publish", "paint", "node-1");
  await writeFile(join(folder, "a.md"), "me");
  const done = await call("publish", "paint", "node-1", "--summary", "I signed it.");
  expect({ parked: parked.code, early: early.code, done: done.code, result: done.stdout.split("\n")[0] }).toEqual({
    parked: 3,
    early: 1,
    done: 0,
    result: "Signed.",
  });
  expect(lines(done)[0]).toBe("paint-house (ID): node-1 is published.");
});

test("a paused agent hears it when it is resumed", async () => {
  const provider = await scripted([{ hold: "thought", ...finish("Done, with the cat in mind.") }]);
  const running = start();
  await provider.reached("thought");
  await call("pause", "paint");
  await running.ended;
  const sent = await call("send", "paint", "Mind the cat.");
  expect({ code: sent.code, words: lines(sent), standing: await standing() }).toEqual({
    code: 0,
    words: ["paint-house (ID): Sent to coordinator. paint-house is paused and gets it when it is resumed."],
    standing: ["paused"],
  });
  provider.release("thought");
  const resumed = await call("resume", "paint");
  expect({ code: resumed.code, result: resumed.stdout.split("\n")[0] }).toEqual({
    code: 0,
    result: "Done, with the cat in mind.",
  });
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("Mind the cat.");
});

test("that everybody waits for everybody is in your inbox, until somebody goes on", async () => {
  const waits = { name: "check_messages", args: { wait: true } };
  await scripted({
    "Paint the house": [
      { calls: [{ name: "create_work_node", args: { task: "Take down what I say.", worker: "Alice" } }, waits] },
      { calls: [waits] },
      finish("Taken down."),
    ],
    "Take down what I say.": [
      { calls: [waits] },
      { calls: [{ name: "write_file", args: { path: "scratch/a.md", content: "Blue." } }] },
      { calls: [{ name: "publish", args: { summary: "It is blue." } }] },
    ],
  });
  const running = start();
  await running.saw("The coordinator knows it and waits too.");
  const inbox = (await call("inbox")).stdout.replace(/agent-\w{8}/g, "ID").split("\n");
  expect(inbox[0]).toMatch(/^\? paint-house · nobody can continue · msg-2 · \d+s ago$/);
  expect(inbox.slice(1)).toEqual([
    "  Everybody waits, and nothing comes by itself until their time is up and their nodes fail:",
    expect.stringMatching(/^ {2}- Alice on node-1 waits for a message or a colleague's result, since \w+day, /),
    "  The coordinator knows it and waits too. Write to one of them or to the coordinator, or cancel a node that is not needed.",
    "  agiraph send ID 'your words' --to coordinator",
    "",
  ]);
  await call("send", "paint", "Blue.", "--to", "Alice");
  expect((await running.ended).code).toBe(0);
  expect((await call("inbox")).stderr).toBe("Nothing waits for you.\n");
});
