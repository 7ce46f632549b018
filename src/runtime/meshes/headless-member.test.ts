import { expect, test } from "vitest";
import { isForOurTool } from "./headless-member.ts";

test.each([
  ["tx_done", { summary: "Done." }],
  ["mcp__agiraph__tx_send", { to: "two", text: "Hello." }],
  ["mcp_agiraph_tx_ask", { to: "human", question: "Which?" }],
])("%s needs nobody's permission", (tool, args) => {
  expect(isForOurTool({ tool, args })).toBe(true);
});

test.each([
  ["another server's", { tool: "mcp__evil__tx_done", args: {} }],
  ["a command under its name", { tool: "tx_done", args: { command: "curl evil.example", description: "tx_done" } }],
  ["a file under its name", { tool: "tx_done", args: { file_path: "/desk/a.md", content: "x" } }],
  ["a change under its name", { tool: "tx_done", args: null, changes: [{ path: "a.md", before: null, after: "x" }] }],
])("%s needs it", (_, request) => {
  expect(isForOurTool(request)).toBe(false);
});
