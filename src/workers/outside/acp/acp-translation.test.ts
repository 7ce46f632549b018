import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { requestGist } from "../session/request-text.ts";
import type { OutsideEvent } from "../session/session.ts";
import type { AcpAgent } from "./acp-launch.ts";
import { quirksOf } from "./acp-quirks.ts";
import { AcpTranslation } from "./acp-translation.ts";
import { permissionSchema, turnSchema } from "./acp-wire.ts";

/*
 * Recorded with the pinned versions of the real agents (`fixtures/acp-*.jsonl`): write a file with permission, write one
 * without, call an MCP tool, be cancelled, go on, and meet an error of the provider.
 */

test("Codex: a denied call that it never closes is closed, and an error in the words of a turn is an error", () => {
  expect(translated("codex")).toMatchInlineSnapshot(`
    [
      "said: I will write the file.",
      "called edit {"title":"Editing files","changes":[{"path":"/desk/allowed.txt","content":"1\\n"}]}",
      "wants edit (/desk/allowed.txt) null",
      "answered true: Changed /desk/allowed.txt",
      "used some-model about 11494+26 $?",
      "said: The file /desk/allowed.txt is written. TASK COMPLETE",
      "used some-model about 11478+13 $?",
      "used gpt-5.5 22768+243 $? for all of it",
      "rested done: The file /desk/allowed.txt is written. TASK COMPLETE",
      "said: I will write the file.",
      "called edit {"title":"Editing files","changes":[{"path":"/desk/rejected.txt","content":"1\\n"}]}",
      "wants edit (/desk/rejected.txt) null",
      "answered false: Not run: permission was not given.",
      "used gpt-5.5 11575+219 $?",
      "noted: It stopped its turn: cancelled.",
      "rested done: I will write the file.",
      "called mcp__everything__echo {"server":"everything","tool":"echo","arguments":{"message":"x"}}",
      "answered true: {"result":{"content":[{"type":"text","text":"Echo: x"}],"structuredContent":null,"_meta":null},"error":null}",
      "used some-model about 11884+17 $?",
      "said: mcp done",
      "used some-model about 11979+2 $?",
      "used gpt-5.5 23842+40 $? for all of it",
      "rested done: mcp done",
      "said: holding",
      "used some-model about 11979+2 $?",
      "rested cancelled: holding",
      "said: alive after cancel",
      "used gpt-5.5 12183+10 $?",
      "rested done: alive after cancel",
      "said: {"error":{"message":"bad request (scripted)","type":"invalid_request_error","code":null,"param":null}}",
      "rested failed retryable=false: {"error":{"message":"bad request (scripted)","type":"invalid_request_error","code":null,"param":null}}",
    ]
  `);
});

test("Claude: arguments that come later are waited for, and costs of a session become costs of turns", () => {
  expect(translated("claude")).toMatchInlineSnapshot(`
    [
      "said: I will write the file.",
      "called Write {"file_path":"/desk/allowed.txt","content":"1"}",
      "wants Write (/desk/allowed.txt) {"file_path":"/desk/allowed.txt","content":"1"}",
      "answered true: Changed /desk/allowed.txt",
      "used some-model about 21846+18 $?",
      "said: The file /desk/allowed.txt is written. TASK COMPLETE",
      "used some-model about 21874+13 $?",
      "used claude-sonnet-4-5 44616+174 $0.1365 for all of it",
      "rested done: The file /desk/allowed.txt is written. TASK COMPLETE",
      "said: I will write the file.",
      "called Write {"file_path":"/desk/rejected.txt","content":"1"}",
      "wants Write (/desk/rejected.txt) {"file_path":"/desk/rejected.txt","content":"1"}",
      "answered false: \`\`\`
    User refused permission to run tool
    \`\`\`",
      "used some-model about 22060+18 $?",
      "said: The file /desk/rejected.txt is written. TASK COMPLETE",
      "used some-model about 22087+14 $?",
      "used claude-sonnet-4-5 44035+155 $0.1344 for all of it",
      "rested done: The file /desk/rejected.txt is written. TASK COMPLETE",
      "called mcp__everything__echo {"message":"x"}",
      "wants mcp__everything__echo ({"message":"x"}) {"message":"x"}",
      "answered true: Echo: x",
      "used some-model about 22279+4 $?",
      "said: mcp done",
      "used some-model about 22288+2 $?",
      "used claude-sonnet-4-5 44464+38 $0.1340 for all of it",
      "rested done: mcp done",
      "said: holding",
      "used some-model about 22347+2 $?",
      "rested cancelled: holding",
      "said: alive after cancel",
      "used claude-sonnet-4-5 22433+10 $0.0674",
      "rested done: alive after cancel",
      "said: API Error: 400 bad request (scripted)",
      "rested failed retryable=false: Internal error: API Error: 400 bad request (scripted)",
    ]
  `);
});

test("Gemini: a call that is first heard of when it asks permission is recorded as called all the same", () => {
  expect(translated("gemini")).toMatchInlineSnapshot(`
    [
      "said: I will write the file.",
      "called write_file {"title":"Writing to allowed.txt","paths":["/desk/allowed.txt"],"changes":[{"path":"/desk/allowed.txt","content":"1"}]}",
      "wants write_file (/desk/allowed.txt) null",
      "answered true: Changed /desk/allowed.txt",
      "used some-model about 12000+36 $?",
      "said: The file /desk/allowed.txt is written. TASK COMPLETE",
      "used some-model about 12043+13 $?",
      "used gemini-2.5-pro 30001+157 $? for all of it",
      "rested done: The file /desk/allowed.txt is written. TASK COMPLETE",
      "said: I will write the file.",
      "called write_file {"title":"Writing to rejected.txt","paths":["/desk/rejected.txt"],"changes":[{"path":"/desk/rejected.txt","content":"1"}]}",
      "wants write_file (/desk/rejected.txt) null",
      "said: The file /desk/rejected.txt is written. TASK COMPLETE",
      "answered false: Not run: permission was not given.",
      "used gemini-2.5-pro 30325+157 $?",
      "rested done: The file /desk/rejected.txt is written. TASK COMPLETE",
      "called mcp_everything_echo {"title":"echo (everything MCP Server)","shown":"{\\"message\\":\\"x\\"}"}",
      "wants mcp_everything_echo ({"message":"x"}) null",
      "answered true: Echo: x",
      "used some-model about 12115+18 $?",
      "said: mcp done",
      "used some-model about 12135+2 $?",
      "used gemini-2.5-pro 30629+143 $? for all of it",
      "rested done: mcp done",
      "said: holding",
      "used some-model about 12137+2 $?",
      "rested cancelled: holding",
      "said: alive after cancel",
      "used gemini-2.5-pro 15387+10 $?",
      "rested done: alive after cancel",
      "rested failed retryable=false: {"error":{"code":400,"message":"bad request (scripted)","status":"INVALID_ARGUMENT"}}",
    ]
  `);
});

test("opencode: the tool is what the call was first called", () => {
  expect(translated("opencode")).toMatchInlineSnapshot(`
    [
      "said: I will write the file.",
      "called write {"filePath":"/desk/allowed.txt","content":"1"}",
      "wants write (/desk/allowed.txt) {"filepath":"/desk/allowed.txt","diff":"Index: /desk/allowed.txt\\n===================================================================\\n--- /desk/allowed.txt\\n+++ /desk/allowed.txt\\n@@ -0,0 +1,1 @@\\n+1\\n\\\\ No newline at end of file\\n"}",
      "answered true: Wrote file successfully.",
      "used some-model about 12000+17 $?",
      "said: The file /desk/allowed.txt is written. TASK COMPLETE",
      "used some-model 10150+25 $?",
      "rested done: The file /desk/allowed.txt is written. TASK COMPLETE",
      "said: I will write the file.",
      "called write {"filePath":"/desk/rejected.txt","content":"1"}",
      "wants write (/desk/rejected.txt) {"filepath":"/desk/rejected.txt","diff":"Index: /desk/rejected.txt\\n===================================================================\\n--- /desk/rejected.txt\\n+++ /desk/rejected.txt\\n@@ -0,0 +1,1 @@\\n+1\\n\\\\ No newline at end of file\\n"}",
      "answered false: The user rejected permission to use this specific tool call.",
      "used some-model 10204+124 $?",
      "rested done: I will write the file.",
      "called everything_echo {"message":"x"}",
      "answered true: Echo: x",
      "used some-model about 10219+4 $?",
      "said: mcp done",
      "used some-model 10394+8 $?",
      "rested done: mcp done",
      "said: holding",
      "used some-model about 10394+2 $?",
      "rested cancelled: holding",
      "said: alive after cancel",
      "used some-model 10448+10 $?",
      "rested done: alive after cancel",
      "rested failed retryable=false: Internal error: bad request (scripted)",
    ]
  `);
});

test("calls of our own tools give no events, and need no permission", () => {
  const translation = begun("claude");
  const call = {
    toolCallId: "call-1",
    title: "mcp__agiraph__publish",
    status: "pending",
    rawInput: { summary: "done" },
    _meta: { claudeCode: { toolName: "mcp__agiraph__publish" } },
  };
  expect([
    translation.update({ sessionUpdate: "tool_call", ...call }),
    translation.askedPermission("permission-1", asking(call)),
    translation.update({ sessionUpdate: "tool_call_update", toolCallId: "call-1", status: "completed" }),
  ]).toEqual([[], { ours: true, events: [] }, []]);
});

test("a model that gives its own command our tool's name needs permission like any other", () => {
  const title = "agiraph_publish";
  for (const agent of ["claude", "codex", "gemini", "opencode", undefined] as const) {
    const { ours } = begun(agent).askedPermission(
      "permission-1",
      asking({ toolCallId: "call-1", title, kind: "execute" }),
    );
    expect([agent, ours]).toEqual([agent, false]);
  }
});

test("an update that nobody understands is noted once, and breaks nothing", () => {
  const translation = begun("codex");
  expect([
    translation.update({ sessionUpdate: "dance" }),
    translation.update({ sessionUpdate: "dance" }),
    translation.update(JSON.parse('{"sessionUpdate":"tool_call","toolCallId":7}')),
    translation.update(JSON.parse('{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}')),
  ]).toEqual([
    [{ kind: "noted", text: "It sent an update that we do not understand: dance." }],
    [],
    [{ kind: "noted", text: "It sent an update that we do not understand: tool_call." }],
    [{ kind: "delta", of: "text", text: "hi" }],
  ]);
});

/** A command that runs and ends, as these updates tell of it. */
function commandOf(agent: AcpAgent, ...updates: object[]): string[] {
  const translation = begun(agent);
  const events = updates.flatMap((update) => translation.update({ sessionUpdate: "tool_call_update", ...update }));
  return events.filter(({ kind }) => kind === "called" || kind === "answered").map(lineOf);
}

test("Codex: what a command wrote, and told piece by piece, is its result", () => {
  const wrote = (data: string) => ({ toolCallId: "1", _meta: { terminal_output_delta: { data } } });
  const runs = { toolCallId: "1", kind: "execute", status: "in_progress", rawInput: { command: "npm test" } };
  const ends = { toolCallId: "1", status: "failed", _meta: { terminal_exit: { exit_code: 2 } } };
  expect(commandOf("codex", runs, wrote("3 passed\n"), wrote("1 failed\n"), ends)).toEqual([
    'called shell {"command":"npm test"}',
    "answered false: 3 passed\n1 failed\nExit code 2.",
  ]);
});

test("Gemini: the title of a command is what it runs, with what it says beside it", () => {
  const shown = (text: string) => ({ content: [{ type: "content", content: { type: "text", text } }] });
  const id = { toolCallId: "run_shell_command__1" };
  const runs = { ...id, kind: "execute", status: "in_progress", title: "npm test", ...shown("Runs the tests") };
  expect(commandOf("gemini", runs, { ...id, status: "completed", ...shown("3 passed") })).toEqual([
    'called run_shell_command {"command":"npm test","details":"Runs the tests"}',
    "answered true: 3 passed",
  ]);
});

test("a plan is noted", () => {
  const entries = [
    { content: "Read", status: "completed" },
    { content: "Write", status: "in_progress" },
  ];
  expect(begun("codex").update(JSON.parse(JSON.stringify({ sessionUpdate: "plan", entries })))).toEqual([
    { kind: "noted", text: "Its plan: Read (completed); Write (in progress)" },
  ]);
});

test("what was cached counts as input once, whether the agent counts it in or beside", () => {
  const used = (usage: object) =>
    begun(undefined)
      .turnEnded(turnSchema.parse({ stopReason: "end_turn", usage }), false)
      .filter((event) => event.kind === "used")
      .map((event) => event.usage);
  const usage = { input: 100, output: 10, cache_read: 80, cache_write: 0, reasoning: 0 };
  expect(used({ inputTokens: 20, outputTokens: 10, cachedReadTokens: 80, totalTokens: 110 })).toEqual([usage]);
  expect(used({ inputTokens: 100, outputTokens: 10, cachedReadTokens: 80, totalTokens: 110 })).toEqual([usage]);
});

test("Gemini: what it chooses among models counts as what it chose last, and before that as the dearest", () => {
  const translation = begun("gemini");
  const says = () =>
    translation.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "12345678" } });
  const turn = (...models: readonly (readonly [model: string, input: number])[]) =>
    turnSchema.parse({
      stopReason: "end_turn",
      _meta: {
        quota: {
          model_usage: models.map(([model, input]) => ({
            model,
            token_count: { input_tokens: input, output_tokens: 2 },
          })),
        },
      },
    });
  const ends = (...models: readonly (readonly [string, number])[]) => {
    const events = translation.turnEnded(turn(...models), false);
    translation.begin();
    return events.filter(({ kind }) => kind === "used").map(lineOf);
  };
  expect(translation.modelIs("auto")).toBe("gemini-3.1-pro-preview");
  says();
  expect(ends()).toEqual(["used gemini-3.1-pro-preview about 12000+2 $?"]);
  // It names the first call of a turn, and those that follow by what it was asked for.
  expect(ends(["gemini-3-flash-preview", 4000], ["auto", 16_000])).toEqual(["used gemini-3-flash-preview 20000+4 $?"]);
  says();
  expect(ends()).toEqual(["used gemini-3-flash-preview about 12002+2 $?"]);
  expect(translation.modelIs("__proto__")).toBe("__proto__");
});

function begun(quirks: AcpAgent | undefined): AcpTranslation {
  const profile = { kind: "acp" as const, command: ["agent"], ...(quirks ? { quirks } : {}) };
  return new AcpTranslation(quirksOf(profile), "some-model", 0);
}

function asking(toolCall: object) {
  return permissionSchema.parse({ toolCall, options: [{ optionId: "yes", kind: "allow_once" }] });
}

/** Plays a recording; events as lines, without the deltas. */
function translated(agent: AcpAgent): string[] {
  const translation = begun(agent);
  const events: OutsideEvent[] = [];
  let asked = "";
  let isCancelled = false;
  for (const line of readFileSync(join(import.meta.dirname, `fixtures/acp-${agent}.jsonl`), "utf8")
    .trim()
    .split("\n")) {
    const { prompt, update, request_permission, decided, cancel, stop, error } = JSON.parse(line);
    if (prompt) {
      translation.begin();
      isCancelled = false;
    }
    if (update) events.push(...translation.update(update));
    if (request_permission) {
      const permission = permissionSchema.parse(request_permission);
      asked = permission.toolCall.toolCallId;
      events.push(...translation.askedPermission("permission", permission).events);
    }
    if (/cancel|reject/.test(decided)) translation.denied(asked);
    if (cancel) isCancelled = true;
    if (stop) events.push(...translation.turnEnded(turnSchema.parse(stop), isCancelled));
    if (error) events.push(...translation.turnFailed(error));
  }
  return events.filter(({ kind }) => kind !== "delta").map(lineOf);
}

function lineOf(event: OutsideEvent): string {
  switch (event.kind) {
    case "said":
    case "noted":
      return `${event.kind}: ${event.text}`;
    case "called":
      return `called ${event.tool} ${JSON.stringify(event.args)}`;
    case "asked_permission":
      return `wants ${event.tool} (${requestGist(event)}) ${JSON.stringify(event.args)}`;
    case "answered":
      return `answered ${event.ok}: ${event.content}`;
    case "used":
      return `used ${event.model} ${event.estimated ? "about " : ""}${event.usage.input}+${event.usage.output} $${event.cost_usd?.toFixed(4) ?? "?"}${event.corrects ? " for all of it" : ""}`;
    case "rested":
      return `rested ${event.how}${event.retryable === undefined ? "" : ` retryable=${event.retryable}`}: ${event.words}`;
    default:
      return event.kind;
  }
}
