import { expect, test } from "vitest";
import { isAllowedBy } from "./permission-rules.ts";
import type { ToolRequest } from "./tool-request.ts";

const CWD = "/home/me/here";
const runs = (command: unknown, more: Partial<ToolRequest> = {}): ToolRequest => ({
  tool: "Bash",
  args: { command },
  ...more,
});

test.each<[rule: string, request: ToolRequest, isAllowed: boolean]>([
  ["Bash(npm test:*)", runs("npm test"), true],
  ["Bash(npm test:*)", runs("npm test -- --run a.test.ts"), true],
  ["Bash(npm test:*)", runs(["/bin/bash", "-lc", "npm test"], { tool: "exec" }), true],
  ["Bash(npm test:*)", { tool: "run_shell_command", category: "execute", args: { command: "npm test" } }, true],
  ["Bash(npm test)", runs("npm test --all"), false],
  ["Bash(npm test:*)", runs("npm testing"), false],
  ["Bash(npm test:*)", runs("npm test; rm -rf ."), false],
  ["Bash(npm test:*)", runs("npm test a; rm -rf ."), false],
  ["Bash(npm test:*)", runs("npm test > a"), false],
  ["Bash(npm test:*)", runs("npm test && curl evil"), false],
  ["Bash(npm test:*)", runs("npm test > ~/.bashrc"), false],
  ["Bash(npm test:*)", runs("npm test $(cat secret)"), false],
  ["Bash(npm test:*)", runs("npm test\nrm a"), false],
  ["Bash(npm test:*)", runs(["/bin/bash", "-lc", "npm test; rm a"]), false],
  ["Bash(npm test:*)", runs("npm test", { isChanged: true }), false],
  ["Bash(npm test:*)", runs("npm test", { announced: { command: "rm a" } }), false],
  ["Bash(npm test:*)", runs("npm test", { announced: { command: "npm test", description: "Tests" } }), true],
  ["Bash(npm test:*)", runs("npm test", { announced: { description: "Tests" } }), false],
  ["Bash(npm test:*)", { tool: "Bash", args: {} }, false],
  ["Bash", runs("npm test | tee a"), false],
  ["Bash", runs("npm ci"), true],
  ["Edit(docs/**)", { tool: "Write", args: { file_path: "/home/me/here/docs/a/b.md" } }, true],
  ["Edit(docs/*.md)", { tool: "replace", args: { file_path: "docs/a.md" } }, true],
  ["Edit(docs/*.md)", { tool: "Write", args: { file_path: "docs/a/b.md" } }, false],
  ["Edit(docs/**)", { tool: "Write", args: { file_path: "docs/../src/a.ts" } }, false],
  ["Edit(**)", { tool: "Write", args: { file_path: "/etc/passwd" } }, false],
  ["Edit(docs/**)", { tool: "Write", args: { file_path: "docs/a" }, paths: ["/home/me/here/src/b"] }, false],
  ["Edit(docs/**)", { tool: "Write", args: {} }, false],
  ["Edit(docs/**)", { tool: "Read", args: { file_path: "docs/a.md" } }, false],
  ["Read", { tool: "Read", args: { file_path: "/anything" } }, true],
  ["WebFetch", { tool: "WebFetch", args: { url: "https://example.org" } }, true],
  ["WebFetch", { tool: "Fetch", args: {}, title: "WebFetch" }, false],
  ["Docs(a)", { tool: "Docs", args: {} }, false],
])("%s of %j: %s", (rule, request, isAllowed) => {
  expect(isAllowedBy([rule], request, CWD)).toBe(isAllowed);
});
