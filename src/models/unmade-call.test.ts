import { expect, test } from "vitest";
import { unmadeCall } from "./unmade-call.ts";

const tools = ["read_file", "bash", "finish"].map((name) => ({ name }));

test.each([
  ['<tool_call>{"name": "read_file", "arguments": {"path": "a.md"}}</tool_call>', "read_file"],
  ['<tool_call-0ther>{"name": "bash"}</tool_call-0ther>', "bash"],
  ["<tool_call>look around</tool_call>", ""],
  ['```json\n{"name": "read_file", "arguments": {"path": "a.md"}}\n```', "read_file"],
  ['{"tool": "bash", "input": {"command": "ls"}}', "bash"],
  ['[TOOL_CALLS][{"name": "fly"}]', ""],
  ["<function=read_file>{}</function>", "read_file"],
  ['<invoke name="bash"><parameter name="command">ls</parameter></invoke>', "bash"],
  ['```python\nread_file(path="a.md")\n```', "read_file"],
  ["I will now call read_file with the path a.md.", "read_file"],
  ["Let me use the `read_file` tool.", "read_file"],
  ["Next I'll invoke finish.", "finish"],
])("%s is an unmade call", (text, tool) => {
  expect(unmadeCall(text, tools)).toEqual({ tool, certain: !/^(I|Let|Next)/.test(text) });
});

test.each([
  "The report is in output/report.md. It took three days.",
  "Use bash scripts to run it, then finish the job.",
  'The file holds {"name": "Alice", "action": "paid"}.',
  "We call the result a success.",
])("%s is an answer", (text) => {
  expect(unmadeCall(text, tools)).toBeUndefined();
});

test("who has no tools can make no call, and a flood of words is read quickly", () => {
  expect(unmadeCall('<tool_call>{"name": "bash"}</tool_call>', [])).toBeUndefined();
  expect(unmadeCall(`${" ".repeat(2_000_000)}call`, tools)).toBeUndefined();
});
