import { expect, test } from "vitest";
import { z } from "zod";
import type { CallPart } from "../protocol/index.ts";
import { coordinationTools } from "./coordination.ts";
import { mailTools } from "./mail.ts";
import { defineTool } from "./tool.ts";
import { Toolbox } from "./toolbox.ts";
import { checkpointTool, createWorkNodeTool, publishTool, suggestTool } from "./work.ts";

const shape = { description: "", repeatable: true, parameters: z.object({}) };
const never = new AbortController().signal;

test("TOOLBOX-2. a tool that throws is a result; one that throws because of the stop is the stop", async () => {
  const toolbox = new Toolbox([
    defineTool({ ...shape, name: "break", run: () => Promise.reject(new Error("It broke.")) }),
    defineTool({ ...shape, name: "drop", run: () => Promise.reject("a word") }),
  ]);
  expect([await toolbox.run(call("break"), never), await toolbox.run(call("drop"), never)]).toEqual([
    { role: "tool", call_id: "c", tool: "break", ok: false, content: "break failed: It broke." },
    { role: "tool", call_id: "c", tool: "drop", ok: false, content: "drop failed: a word" },
  ]);
  await expect(toolbox.run(call("break"), AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
});

test("TOOLBOX-3. tools from elsewhere are those of the moment, and never take the place of ours", async () => {
  const tool = (name: string, words: string) => defineTool({ ...shape, name, run: async () => words });
  let elsewhere = [tool("theirs", "one"), tool("ours", "stolen")];
  const toolbox = new Toolbox([tool("ours", "ours")], () => elsewhere);
  const names = () => toolbox.specs.map(({ name }) => name);
  const said = async (name: string) => (await toolbox.run(call(name), never)).content;
  expect([names(), await said("ours"), await said("theirs")]).toEqual([["ours", "theirs"], "ours", "one"]);
  elsewhere = [tool("new", "two")];
  expect([names(), await said("new"), await said("theirs")]).toEqual([
    ["ours", "new"],
    "two",
    'There is no tool "theirs". You have: ours, new.',
  ]);
});

test("TOOLBOX-4. the list of tools is the same one from turn to turn, until there are others", () => {
  const tool = (name: string) => defineTool({ ...shape, name, run: async () => name });
  let elsewhere = [tool("theirs")];
  const toolbox = new Toolbox([tool("ours")], () => [...elsewhere]);
  const before = toolbox.specs;
  expect(toolbox.specs).toBe(before);
  elsewhere = [tool("theirs")];
  const after = toolbox.specs;
  expect(after).not.toBe(before);
  expect(toolbox.specs).toBe(after);
});

test("after a crash, what was asked of a server that is not there now is of unknown outcome", async () => {
  const { content } = await new Toolbox([]).recover(call("mcp__files__move"), never);
  expect(content).toMatch(/^Outcome unknown/);
});

test("TOOLBOX-1. a call to a tool that is not there any more has its one result after a crash too", async () => {
  const toolbox = new Toolbox([]);
  expect(await toolbox.recover(call("gone"), never)).toEqual({
    role: "tool",
    call_id: "c",
    tool: "gone",
    ok: false,
    content: 'There is no tool "gone". You have no tools.',
  });
});

test("after a crash an order for work is never given twice; what ends the same however often it is done, is done", () => {
  const nobody = () => Promise.reject(new Error("not called"));
  const tools = [
    createWorkNodeTool({ createNode: nobody }),
    publishTool({ publish: nobody }),
    checkpointTool({ checkpoint: nobody }),
    suggestTool(nobody),
    ...mailTools({ send: nobody, waiting: () => 0, arrived: nobody }),
    ...coordinationTools(
      {
        spawn: nobody,
        assign: nobody,
        cancel: nobody,
        update: nobody,
        board: () => "",
        reconvene: nobody,
        launch: nobody,
        programs: () => [],
        stageStatus: () => "",
        unfinished: () => null,
        running: () => null,
      },
      nobody,
    ),
  ];
  const names = (repeatable: boolean) =>
    tools.filter((tool) => tool.repeatable === repeatable).map((tool) => tool.spec.name);
  expect({ once: names(false), again: names(true) }).toEqual({
    once: ["create_work_node", "suggest_next", "send_message", "spawn_worker", "launch_roles"],
    again: [
      "publish",
      "checkpoint",
      "check_messages",
      "assign_worker",
      "cancel_node",
      "update_node",
      "check_board",
      "reconvene",
      "check_stage_status",
      "finish",
      "conclude",
    ],
  });
});

test.each([
  ["finish", "summary"],
  ["conclude", "output"],
])("%s ends the run with its words, unless something is still under way, and says what", async (name, field) => {
  const nobody = () => Promise.reject(new Error("not called"));
  let open: string | null = "node-1 is running. Wait for the news.";
  const port = { spawn: nobody, assign: nobody, cancel: nobody, update: nobody, reconvene: nobody, launch: nobody };
  const looks = {
    board: () => "",
    programs: () => [],
    stageStatus: () => "",
    unfinished: () => open,
    running: () => null,
  };
  const toolbox = new Toolbox(coordinationTools({ ...port, ...looks }, nobody));
  const ask = () => toolbox.run({ type: "call", id: "c", name, args: { [field]: "80" } }, never);
  const refused = await ask();
  open = null;
  const result = { role: "tool", call_id: "c", tool: name };
  expect([refused, await ask()]).toEqual([
    { ...result, ok: false, content: "Not finished: node-1 is running. Wait for the news." },
    { ...result, ok: true, content: "Finished.", ending: { kind: "finished", summary: "80" } },
  ]);
});

function call(name: string): CallPart {
  return { type: "call", id: "c", name, args: {} };
}
