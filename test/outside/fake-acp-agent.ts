import { createInterface } from "node:readline";

/**
 * An ACP agent that does what it is told by name, well or badly. `node fake-acp-agent.ts HOW`; the name of a turn in
 * a prompt says what it does.
 */
const how = process.argv[2] ?? "";
const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (body: object) => send({ method: "session/update", params: { sessionId: "s-1", update: body } });
const say = (text: string) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
const waiting = new Map<unknown, (result: { outcome?: { outcome: string }; [field: string]: unknown }) => void>();
let asked = 0;
let cancel: () => void = () => {};
const steered = Promise.withResolvers<void>();
const taken = Promise.withResolvers<void>();

const request = (method: string, params: object) =>
  new Promise<{ outcome?: { outcome: string }; [field: string]: unknown }>((resolve) => {
    const id = `q-${++asked}`;
    waiting.set(id, resolve);
    send({ id, method, params });
  });

const callOf = (id: string) => ({
  toolCallId: id,
  title: "Delete everything",
  kind: "execute",
  rawInput: { command: "rm" },
});
const options = [
  { optionId: "once", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

const commandIsOver = () => update({ sessionUpdate: "tool_call_update", toolCallId: "c-1", status: "completed" });
const PUBLISHES = {
  ...{ sessionUpdate: "tool_call", toolCallId: "c-3", title: "Publish", kind: "other", status: "in_progress" },
  ...{ rawInput: { server: "agiraph", tool: "publish" }, _meta: { is_mcp_tool_call: true } },
};

const turns: Record<string, (words: string) => Promise<string> | string> = {
  Echo: (words) => {
    say(words);
    return "end_turn";
  },
  Ask: async () => {
    const { outcome } = await request("session/request_permission", {
      sessionId: "s-1",
      toolCall: callOf("c-1"),
      options,
    });
    say(`decided: ${JSON.stringify(outcome)}`);
    return "end_turn";
  },
  Nag: async () => {
    const ask = (at: number) =>
      request("session/request_permission", {
        sessionId: "s-1",
        toolCall: {
          ...callOf(at % 2 ? "__proto__" : `c-${at}`),
          title: "t".repeat(50_000),
          rawInput: { command: `rm ${at}` },
        },
        options,
      });
    await Promise.all(Array.from({ length: 300 }, (_, at) => ask(at)));
    return "end_turn";
  },
  /** It asks when it has told a part of the call only, as opencode does at times. */
  AskEarly: async () => {
    const call = (rawInput: object) => ({ toolCallId: "c-1", title: "bash", kind: "execute", rawInput });
    update({ sessionUpdate: "tool_call", status: "pending", ...call({ cwd: "/" }) });
    const toolCall = call({ command: "touch a" });
    const asked = request("session/request_permission", { sessionId: "s-1", toolCall, options });
    if (how === "whole")
      update({
        ...{ sessionUpdate: "tool_call_update", status: "in_progress" },
        ...call({ command: "touch a", description: "Touches a", cwd: "/" }),
      });
    const { outcome } = await asked;
    say(`decided: ${JSON.stringify(outcome)}`);
    return "end_turn";
  },
  AskAndVanish: () => {
    void request("session/request_permission", { sessionId: "s-1", toolCall: callOf("c-1"), options });
    setTimeout(() => process.exit(3), 100);
    return new Promise(() => {});
  },
  Vanish: () => {
    update({ sessionUpdate: "tool_call", status: "in_progress", ...callOf("c-1") });
    console.error("segmentation fault");
    setTimeout(() => process.exit(139), 50);
    return new Promise(() => {});
  },
  Hold: () => {
    say("holding");
    return new Promise((resolve) => {
      cancel = () => resolve("cancelled");
    });
  },
  Garble: () => {
    process.stdout.write('this is no JSON\n{"jsonrpc":"2.0","id":999,"result":{}}\n[1,2]\n"x"\n{"jsonrpc":"1.0"}\n');
    update({ sessionUpdate: "never_heard_of" });
    send({ method: "session/update", params: 7 });
    say("still here");
    return "end_turn";
  },
  Flood: () => {
    process.stdout.write(`${"x".repeat(20_000_000)}\n`);
    for (let i = 0; i < 200_000; i++) say("all work and no play ".repeat(5));
    return "end_turn";
  },
  Files: async (words) => {
    const [, path = "", content = ""] = words.split(" ");
    const answers = [
      await request("fs/write_text_file", { sessionId: "s-1", path, content }),
      await request("fs/read_text_file", { sessionId: "s-1", path }),
      await request("terminal/create", { sessionId: "s-1", command: "id" }),
    ];
    say(JSON.stringify(answers));
    return "end_turn";
  },
  Refuse: () => "refusal",
  /** Its model publishes when it has the result of a command; meanwhile it is told something. */
  Publish: async () => {
    update({ sessionUpdate: "tool_call", status: "in_progress", ...callOf("c-1") });
    await steered.promise;
    if (how === "steered") {
      await request("session/request_permission", { sessionId: "s-1", toolCall: callOf("c-2"), options });
      commandIsOver();
    }
    update(PUBLISHES);
    if (how === "steered-slow") {
      await request("session/request_permission", { sessionId: "s-1", toolCall: callOf("c-4"), options });
      taken.resolve();
    }
    return new Promise((resolve) => {
      cancel = () => resolve("cancelled");
    });
  },
};

async function answer(method: string, params: { prompt?: { text: string }[]; sessionId?: string }): Promise<object> {
  if (method === "initialize") {
    if (how === "mute") return new Promise(() => {});
    const agentCapabilities = { loadSession: how !== "forgetful", mcpCapabilities: { http: how !== "stdio" } };
    const _meta = { steering: { supported: how.startsWith("steered") } };
    return { protocolVersion: how === "future" ? 2 : 1, agentCapabilities, _meta };
  }
  if (method === "_session/steering") {
    if (how === "steered-late" || how === "steered-slow") commandIsOver();
    setImmediate(steered.resolve);
    if (how === "steered-slow") await taken.promise;
    return { outcome: "injected" };
  }
  if (method === "session/new") return { sessionId: "s-1", _meta: params };
  if (method === "session/load") {
    if (how === "dies-loading") process.exit(9);
    if (how === "locked") throw Object.assign(new Error("Authentication required"), { code: -32_000 });
    if (how === "offline") throw new Error("The provider cannot be reached");
    if (params.sessionId !== "s-1") throw new Error("no such session");
    say("this was said long ago");
    return {};
  }
  const words = params.prompt?.[0]?.text ?? "";
  const act = turns[words.split(/\W+/).find((word) => word in turns) ?? "Echo"];
  return { stopReason: (await act?.(words)) ?? "end_turn" };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === "session/cancel") return cancel();
  if (method === undefined) return waiting.get(id)?.(result ?? { error: error?.message });
  answer(method, params).then(
    (result) => send({ id, result }),
    ({ code = -32_603, message }: Error & { code?: number }) => send({ id, error: { code, message } }),
  );
});
if (how === "stubborn") {
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => {});
  // Nor does it end with its input.
  setInterval(() => {}, 1000);
}
