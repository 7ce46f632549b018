import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ToolSpec } from "../models/model.ts";
import { TOOL_NAMES } from "../tools/tool-names.ts";
import { rulesWith } from "./prompt-rules.ts";

const rulesIn = (name: string) => readFileSync(join(import.meta.dirname, `prompts/${name}.md`), "utf8");
const offered = (...names: string[]): ToolSpec[] => names.map((name) => ({ name, description: "", parameters: {} }));

test("who has all tools is told all rules as they are", () => {
  for (const name of ["operating-rules", "worker-rules"])
    expect(rulesWith(rulesIn(name), offered(...TOOL_NAMES))).toBe(rulesIn(name));
});

test("no rule names a tool that is not there, and who works alone hears nothing of nodes (PROMPT-RULES-1)", () => {
  const alone = rulesWith(rulesIn("operating-rules"), offered("read_file", "bash", "finish"));
  expect(alone).not.toMatch(
    /memory_|create_work_node|launch_roles|reconvene|check_messages|node|worker|stage|waits too/,
  );
  for (const kept of [
    "- What you remember is shown above, if anything.\n",
    "- Do small things yourself. Start with",
    "call finish",
  ])
    expect(alone).toContain(kept);
  const leads = rulesWith(rulesIn("operating-rules"), offered("create_work_node", "check_messages", "finish"));
  expect(leads).toContain("- Do small things yourself. Hand out what can stand alone (create_work_node). Start with");
  expect(leads).toContain("- Before you try a failed node again");
  expect(leads).not.toMatch(/memory_|launch_roles|reconvene/);
  expect(rulesWith(rulesIn("worker-rules"), offered("publish"))).toBe(
    rulesIn("worker-rules").replace(" If it is too big, hand out parts with create_work_node.", ""),
  );
});
