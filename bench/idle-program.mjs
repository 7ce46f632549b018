import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

/**
 * As much of Claude Code's protocol as a program needs that asks its person something and then waits: it has a session,
 * asks by our door, and ends its turn. Resumed, it publishes.
 */
const words = process.argv;
const isResumed = words.includes("--resume");
const session_id = words[words.indexOf(isResumed ? "--resume" : "--session-id") + 1];
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
let isBegun = false;

const input = createInterface({ input: process.stdin }).on("close", () => process.exit(0));
input.on("line", (line) => {
  const { type, message, uuid } = JSON.parse(line);
  if (type !== "user") return;
  say({ type, message, uuid, session_id, isReplay: true });
  if (isBegun) return;
  isBegun = true;
  void work();
});

async function work() {
  say({ type: "system", subtype: "init", session_id, model: "none", mcp_servers: [] });
  const id = isResumed ? "published" : "asked";
  say({ type: "assistant", message: { id, model: "none", content: [{ type: "text", text: "…" }] } });
  if (isResumed) writeFileSync("colour.md", "blue\n");
  if (isResumed) await call("publish", { summary: "It is blue." });
  else await call("ask_human", { question: "Which colour?" });
  say({ type: "result", subtype: "success", is_error: false, result: "I wait." });
}

async function call(name, args) {
  const response = await fetch(process.env.AGIRAPH_DOOR_URL ?? "", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
      authorization: `Bearer ${process.env.AGIRAPH_DOOR_TOKEN}`,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  await response.text();
}
