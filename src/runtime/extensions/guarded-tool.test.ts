import { expect, test } from "vitest";
import { manualClock } from "../../testing/index.ts";
import * as z from "../../tools/schema.ts";
import { defineTool, type Tool } from "../../tools/tool.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { guardedTool } from "./guarded-tool.ts";

const never = new AbortController().signal;
const call = { type: "call", id: "c", name: "slow", args: {} } as const;

function toolThat(run: Tool["run"], more: { timeoutSeconds?: number } = {}): Tool {
  const parameters = z.object({});
  return defineTool({ name: "slow", description: "", repeatable: true, parameters, run, ...more });
}

test("ADDED-TOOL-1: a call that takes too long fails, although the tool does not heed its signal", async () => {
  const clock = manualClock();
  const toolbox = new Toolbox([
    guardedTool(
      toolThat(() => new Promise(() => {})),
      clock,
    ),
  ]);
  const running = toolbox.run(call, never);
  await clock.advance(120_000);
  expect(await running).toMatchObject({ ok: false, content: "slow failed: it took longer than 120 s" });
  const longer = new Toolbox([
    guardedTool(
      toolThat(() => new Promise(() => {}), { timeoutSeconds: 600 }),
      clock,
    ),
  ]);
  const patient = longer.run(call, never);
  await clock.advance(600_000);
  expect(await patient).toMatchObject({ ok: false, content: "slow failed: it took longer than 600 s" });
});

test("ADDED-TOOL-1: a stop goes through at once, and leaves no timer behind", async () => {
  const clock = manualClock();
  const stop = new AbortController();
  const running = guardedTool(
    toolThat(() => new Promise(() => {})),
    clock,
  ).run({}, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(running).rejects.toThrow("stopped");
  expect(clock.due).toEqual([]);
});

test.each([
  [undefined, "gave back something that is not text"],
  [{ content: 5 }, "gave back something that is not text"],
  [null, "gave back something that is not text"],
])("ADDED-TOOL-2: %j is a failed call", async (given, words) => {
  const toolbox = new Toolbox([
    guardedTool(
      toolThat(async () => given as unknown as string),
      manualClock(),
    ),
  ]);
  expect(await toolbox.run(call, never)).toMatchObject({ ok: false, content: expect.stringContaining(words) });
});

test("ADDED-TOOL-2: what is too long is cut, and nothing but words comes through", async () => {
  const ending = { kind: "finished", summary: "by force" } as const;
  const tool = guardedTool(
    toolThat(async () => ({ content: "x".repeat(40_000), ending })),
    manualClock(),
  );
  const result = await new Toolbox([tool]).run(call, never);
  expect(result.content).toMatch(/^x+\n… 10000 bytes left out here …\nx+$/);
  expect(result).toEqual({ role: "tool", call_id: "c", tool: "slow", ok: true, content: result.content });
});

test("ADDED-TOOL-2: checks that throw are refusals", async () => {
  const throwing = () => {
    throw new Error("bad check");
  };
  const spec = { name: "slow", description: "", parameters: {}, readOnly: throwing };
  const tool = guardedTool({ spec, repeatable: true, parse: throwing, run: async () => "" }, manualClock());
  expect(await new Toolbox([tool]).run(call, never)).toMatchObject({
    ok: false,
    content: "slow did not run, its arguments were wrong:\nbad check",
  });
  expect(typeof tool.spec.readOnly === "function" && tool.spec.readOnly({})).toBe(false);
});

test("ADDED-TOOL-3: what one worker closes stays open for the others", () => {
  const tool = toolThat(async () => "");
  expect(guardedTool({ ...tool, close: async () => {} }, manualClock()).close).toBeUndefined();
});
