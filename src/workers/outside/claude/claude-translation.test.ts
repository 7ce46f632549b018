import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { OutsideEvent } from "../session/session.ts";
import { ClaudeTranslation } from "./claude-translation.ts";
import { type ClaudeLine, claudeLine } from "./claude-wire.ts";

/** Lines of the real program (2.1.325), without what is long and says nothing to us. */
const recorded: Record<"ok" | "error" | "hang", unknown[]> = JSON.parse(
  readFileSync(new URL("./recorded/claude-code-2.1.325.json", import.meta.url), "utf8"),
);

function played(lines: readonly unknown[], translation = new ClaudeTranslation(0)): OutsideEvent[] {
  translation.said("u-1");
  return lines.flatMap((line): OutsideEvent[] => {
    const read = claudeLine(JSON.stringify(line));
    if (typeof read === "string") return [{ kind: "noted", text: read } as const];
    return read ? translation.translate(read) : [];
  });
}

const withoutDeltas = (events: readonly OutsideEvent[]) => events.filter(({ kind }) => kind !== "delta");
const usage = { input: expect.any(Number), output: expect.any(Number), cache_read: 0, cache_write: 0, reasoning: 0 };
const used = { kind: "used", model: "claude-sonnet-5-5", usage, cost_usd: null };
const bash = { command: "sleep 3; echo hello > a.md" };
const write = { file_path: "/desk/cwd/b.md", content: "b" };

test("a turn with words, calls, permission and results", () => {
  const events = played(recorded.ok);
  expect(withoutDeltas(events)).toEqual([
    { kind: "begun", session_id: "s-1", model: "claude-sonnet-5-5", about: "Claude Code 2.1.325" },
    { kind: "said", text: "I will look." },
    { kind: "called", call_id: "toolu_1_1", tool: "Bash", args: bash },
    ...[expect.objectContaining({ kind: "asked_permission", tool: "Bash", args: bash, call_id: "toolu_1_1" })],
    used,
    { kind: "answered", call_id: "toolu_1_1", ok: true, content: "(Bash completed with no output)" },
    { kind: "said", text: "Done one." },
    { kind: "called", call_id: "toolu_2_1", tool: "Write", args: write },
    used,
    expect.objectContaining({
      kind: "asked_permission",
      tool: "Write",
      args: { file_path: "/desk/cwd/b.md", content: "b" },
    }),
    expect.objectContaining({ kind: "answered", call_id: "toolu_2_1", ok: true }),
    { kind: "said", text: "All done." },
    used,
    { kind: "rested", how: "done", words: "All done.", cost_usd: expect.any(Number) },
  ]);
  const words = events.flatMap((event) => (event.kind === "delta" ? [event.text] : [])).join("");
  expect(words).toBe("I will look.Done one.All done.");
});

test("an error of the API is a failure, although its subtype is success; each retry is noted", () => {
  const events = withoutDeltas(played(recorded.error));
  expect(events.map(({ kind }) => kind)).toEqual(["begun", "noted", "noted", "rested"]);
  expect(events.flatMap((event) => (event.kind === "noted" ? [event.retry] : []))).toEqual([
    { reason: "auth", status: 401, in_ms: 536 },
    { reason: "auth", status: 401, in_ms: 1053 },
  ]);
  expect(events.at(-1)).toMatchObject({ kind: "rested", how: "failed", words: expect.stringContaining("401 bad key") });
});

test("an interrupted turn is cancelled", () => {
  expect(played(recorded.hang).at(-1)).toMatchObject({ kind: "rested", how: "cancelled" });
});

const result = { type: "result", subtype: "success", is_error: false, result: "Done.", queued_turn_count: 0 };
const init = { type: "system", subtype: "init", session_id: "s-1" };
const taken = { type: "command_lifecycle", command_uuid: "u-1", state: "started" };

test("a turn is not over while something said to it waits to be heard", () => {
  const translation = new ClaudeTranslation(0);
  translation.said("u-2");
  expect(withoutDeltas(played([init, taken, result], translation))).toMatchObject([{ kind: "begun" }]);
  const started = { type: "command_lifecycle", command_uuid: "u-2", state: "started" };
  expect(played([taken, started, result], translation)).toMatchObject([{ kind: "rested", how: "done" }]);
});

test("what a session has cost before is not counted again, and where nobody knows it the first turn tells nothing", () => {
  const costs = (before: number | null) =>
    played(
      [init, taken, { ...result, total_cost_usd: 0.5 }, { ...result, total_cost_usd: 0.75 }],
      new ClaudeTranslation(before),
    ).flatMap((event) => (event.kind === "rested" ? [event.cost_usd] : []));
  expect([costs(0), costs(0.25), costs(null)]).toEqual([
    [0.5, 0.25],
    [0.25, 0.25],
    [undefined, 0.25],
  ]);
});

test("what a sub-agent shows of its use is told once a reply, and is no turn", () => {
  const usage = { input_tokens: 100, cache_read_input_tokens: 50, output_tokens: 1 };
  const line = (id: string, text: string) => ({
    ...{ type: "assistant", parent_tool_use_id: "t-1" },
    message: { id, model: "claude-x", usage, content: [{ type: "text", text }] },
  });
  const events = played([line("m-1", "a".repeat(400)), line("m-1", "b"), line("m-2", "c")]);
  const told = events.map((event) => event.kind === "used" && [event.aside, event.usage.input, event.usage.cache_read]);
  expect(told).toEqual([
    [true, 150, 50],
    [true, 0, 0],
    [true, 150, 50],
  ]);
  expect(events[0]).toMatchObject({ model: "claude-x", usage: { output: expect.toSatisfy((n) => n > 100) } });
});

test("what a turn cost that goes on with a message is told with the next", () => {
  const translation = new ClaudeTranslation(0);
  translation.said("u-1");
  translation.said("u-2");
  const started = { type: "command_lifecycle", command_uuid: "u-2", state: "started" };
  const lines = [init, taken, { ...result, total_cost_usd: 0.5 }, started, { ...result, total_cost_usd: 0.75 }];
  expect(played(lines, translation).at(-1)).toMatchObject({ kind: "rested", cost_usd: 0.75 });
});

test("calls of our own tools are left to our side of the door", () => {
  const content = [{ type: "tool_use", id: "t-1", name: "mcp__agiraph__publish", input: { summary: "x" } }];
  const answer = [{ type: "tool_result", tool_use_id: "t-1", content: "Published." }];
  const lines = [
    { type: "assistant", message: { id: "m", model: "claude-x", content } },
    { type: "user", message: { content: answer } },
  ];
  expect(played(lines)).toEqual([]);
});

test("what is cut off by its end is answered", () => {
  const translation = new ClaudeTranslation(0);
  const content = [{ type: "tool_use", id: "t-1", name: "Bash", input: {} }];
  played([{ type: "assistant", message: { id: "m", model: "claude-x", content } }], translation);
  expect(translation.gone()).toMatchObject([{ kind: "answered", call_id: "t-1", ok: false }]);
});

test("no line is a throw: what cannot be understood is said, what says nothing to us is let through", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const read = claudeLine(text);
      expect(read === undefined || typeof read === "string").toBe(true);
    }),
  );
  const all = Object.values(recorded).flat() as Record<string, unknown>[];
  fc.assert(
    fc.property(fc.constantFrom(...all), fc.string(), fc.jsonValue(), (line, key, value) => {
      const keys = Object.keys(line);
      const spoiled = { ...line, [keys[key.length % keys.length] ?? key]: value };
      const read = claudeLine(JSON.stringify(spoiled));
      if (read && typeof read !== "string") new ClaudeTranslation(0).translate(read as ClaudeLine);
    }),
  );
});

test("a session is lost when it says so before it has begun, and not when it ends with any other error", () => {
  // As version 2.1.325 says it.
  const ends = (error: string) => ({
    ...{ type: "result", subtype: "error_during_execution", is_error: true, num_turns: 0, total_cost_usd: 0 },
    errors: [error],
  });
  const lost = "No conversation found with session ID: 5b1b2b3b-aaaa-4222-8333-444444444444";
  expect(played([ends(lost)])).toEqual([{ kind: "lost", why: lost }]);
  expect(played([ends("Out of memory")])).toEqual([{ kind: "noted", text: "Out of memory" }]);
});
