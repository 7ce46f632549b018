import { expect, test } from "vitest";
import { z } from "zod";
import type { CallPart } from "../protocol/index.ts";
import { defineTool } from "./tool.ts";
import { Toolbox } from "./toolbox.ts";
import { checkpointTool, createWorkNodeTool, finishTool, publishTool } from "./work.ts";

const shape = { description: "", guidance: "", repeatable: true, parameters: z.object({}) };
const never = new AbortController().signal;

test("T2. a tool that throws is a result; one that throws because of the stop is the stop", async () => {
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

test("T1. a call to a tool that is not there any more has its one result after a crash too", async () => {
  const toolbox = new Toolbox([]);
  expect(await toolbox.settle(call("gone"), never)).toEqual({
    role: "tool",
    call_id: "c",
    tool: "gone",
    ok: false,
    content: 'There is no tool "gone". You have: .',
  });
});

test("after a crash an order for work is never given twice; what ends the same however often it is done, is done", () => {
  const nobody = () => Promise.reject(new Error("not called"));
  const tools = [
    createWorkNodeTool({ createNode: nobody, unfinished: () => null }),
    finishTool({ createNode: nobody, unfinished: () => null }),
    publishTool({ publish: nobody }),
    checkpointTool({ checkpoint: nobody }),
  ];
  expect(tools.map((tool) => [tool.spec.name, tool.repeatable])).toEqual([
    ["create_work_node", false],
    ["finish", true],
    ["publish", true],
    ["checkpoint", true],
  ]);
});

function call(name: string): CallPart {
  return { type: "call", id: "c", name, args: {} };
}
