import { expect, test } from "vitest";
import { type Entry, HUMAN, textOf } from "../protocol/index.ts";
import { createSurveyor } from "./surveyor.ts";

test("after a crash in the middle of create_work_node it looks on the board before it asks again", async () => {
  const files = {
    role: "tool",
    call_id: "demo-run-1-1",
    tool: "list_files",
    ok: true,
    content: "project/a.md (4 bytes)",
  } as const;
  const goal = { role: "user", from: HUMAN, content: "Survey this project", run_id: "run-1" } as const;
  const tools = ["list_files", "read_file", "create_work_node", "finish"];
  const look = await replyTo([goal], tools);
  const create = await replyTo([goal, look, files], tools);
  const made = create.content.find((part) => part.type === "call");
  const task = made?.type === "call" && typeof made.args === "object" && made.args ? Object.values(made.args)[0] : "";
  const unknown = {
    role: "tool",
    call_id: "demo-run-1-2",
    tool: "create_work_node",
    ok: false,
    content: "Outcome unknown: …",
  } as const;
  const history: Entry[] = [goal, look, files, create, unknown];

  history.push(await replyTo(history, tools));
  expect(callsIn(history)).toEqual([["list_files", { path: "nodes", recursive: false }]]);
  history.push({ role: "tool", call_id: "demo-run-1-3", tool: "list_files", ok: true, content: "nodes/node-1/" });
  history.push(await replyTo(history, tools));
  expect(callsIn(history)).toEqual([["read_file", { path: "nodes/node-1/_spec.md" }]]);

  const spec = { role: "tool", call_id: "demo-run-1-4", tool: "read_file", ok: true } as const;
  const isThere = await replyTo([...history, { ...spec, content: `# node-1\n\n${task}\n` }], tools);
  expect(textOf(isThere)).toBe("[demo] I am waiting for node-1.");
  const isNot = await replyTo([...history, { ...spec, content: "# node-1\n\nSomething else\n" }], tools);
  expect(callsIn([isNot])).toEqual([["create_work_node", made?.type === "call" ? made.args : undefined]]);
});

test("a file whose reading was postponed for a message is read after it, with the rest of them", async () => {
  const task: Entry = {
    role: "user",
    from: "coordinator",
    node_id: "node-1",
    content:
      "Survey lamps\n\nFolders:\n- project/lamps\n\nFiles:\n- project/lamps/a.md (7 bytes)\n- project/lamps/b.md (7 bytes)",
  };
  const tools = ["list_files", "read_file", "write_file", "publish"];
  const result = (n: number, tool: string, ok: boolean, content: string): Entry => ({
    role: "tool",
    call_id: `demo-node-1-${n}`,
    tool,
    ok,
    content,
  });
  const held = "Not run: a message came first; read it, then decide whether to call this again.";
  const history: Entry[] = [task, await replyTo([task], tools), result(1, "list_files", false, held)];
  history.push(await replyTo(history, tools));
  expect(callsIn(history)).toEqual([["list_files", { path: "project/lamps", recursive: true }]]);

  history.push(result(2, "list_files", true, "project/lamps/a.md (7 bytes)\nproject/lamps/b.md (7 bytes)"));
  history.push(await replyTo(history, tools));
  // The first of them says what a call that was postponed says: it was read nevertheless.
  history.push(result(3, "read_file", true, held), result(4, "read_file", false, held));
  history.push({ role: "user", from: "agiraph", content: "[Message from your human]: please hurry", upto: 3 });
  history.push(await replyTo(history, tools));
  expect(callsIn(history)).toEqual([["read_file", { path: "project/lamps/b.md", limit: 800 }]]);

  history.push(result(5, "read_file", true, "# Lamp B"));
  const written = await replyTo(history, tools);
  expect(callsIn([written]).map(([name]) => name)).toEqual(["write_file", "write_file"]);
  expect(JSON.stringify(written)).not.toContain("Could not be read");
});

test("when a summary hides what it was asked, the summary says it", async () => {
  const content =
    "Much was said.\n\n## Your assignment (node-7)\n\nSurvey lamps\n\nFolders:\n- project/lamps\n\nFiles:\n- project/lamps/a.md (7 bytes)\n- project/lamps/b.md (7 bytes)\n\n## Your colleagues\n\n- Bob";
  const history: Entry[] = [{ role: "summary", content }];
  const system = "You are Alice.";
  const reply = await createSurveyor().reply(
    { system, history, tools: specs(["publish"]) },
    new AbortController().signal,
  );
  expect(callsIn([reply])).toEqual([["list_files", { path: "project/lamps", recursive: true }]]);
});

test("whoever writes to it gets an honest answer, and its words arrive in pieces", async () => {
  const pieces: string[] = [];
  const goal: Entry = { role: "user", from: HUMAN, content: "Survey this project", run_id: "run-1" };
  const message: Entry = {
    role: "user",
    from: "agiraph",
    content: "[Message from your human]: faster *please*",
    upto: 3,
  };
  const reply = await createSurveyor().reply(
    {
      system: "",
      history: [goal, message],
      tools: specs(["list_files", "read_file", "finish"]),
      onDelta: ({ text }) => pieces.push(text),
    },
    new AbortController().signal,
  );
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join("")).toBe(textOf(reply));
  expect(textOf(reply)).toBe(
    "[demo] I am demo/surveyor, the built-in demo: rules, no language model. You wrote “faster \\*please\\*”; I read it, but I am rules only and cannot act on it. I look at the project first.",
  );
});

function replyTo(history: readonly Entry[], tools: readonly string[]) {
  return createSurveyor().reply({ system: "", history, tools: specs(tools) }, new AbortController().signal);
}

function specs(names: readonly string[]) {
  return names.map((name) => ({ name, description: "", parameters: {} }));
}

function callsIn(history: readonly Entry[]) {
  const last = history.at(-1);
  return last?.role === "assistant"
    ? last.content.flatMap((part) => (part.type === "call" ? [[part.name, part.args]] : []))
    : [];
}
