import { expect, test } from "vitest";
import type { DeclaredAgent } from "../../mesh/declaration/declared-agent.ts";
import type { MeshAgentConfig } from "../../protocol/index.ts";
import { describedRun, modelName, programName, runsAs } from "./runs-as.ts";

const agent = (options: MeshAgentConfig["options"]): DeclaredAgent =>
  ({ name: "one", category: "x", config: { name: "one", options } }) as never;

test("an agent of a mesh is the program that is named in place of a model, with the model behind it", () => {
  const named = ["codex", "codex/gpt-5.5", "gemini", "opencode/openrouter/a/b", "claude-opus", "claude-code/haiku"];
  const found = named.map((model) => agent({ model }));
  expect(found.map((one) => [programName(one), modelName(one), describedRun(one)])).toEqual([
    ["codex", null, "codex/default"],
    ["codex", "gpt-5.5", "codex/gpt-5.5"],
    ["gemini", null, "gemini/default"],
    ["opencode", "openrouter/a/b", "opencode/openrouter/a/b"],
    ["claude-code", "opus", "claude-code/opus"],
    ["claude-code", "haiku", "claude-code/haiku"],
  ]);
  expect(found.filter((one) => runsAs(one) === "harnessed")).toEqual([]);
});

test("a provider's model runs in our own loop, and without either it is Claude Code", () => {
  expect(runsAs(agent({ model: "gemini/gemini-3-pro" }))).toBe("harnessed");
  expect(runsAs(agent({ model: "gemini/gemini-3-pro", runs: "headless" }))).toBe("headless");
  expect([programName(agent({})), modelName(agent({}))]).toEqual(["claude-code", null]);
  expect(programName(agent({ program: "mine", model: "codex" }))).toBe("mine");
});
