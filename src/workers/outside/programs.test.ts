import { expect, test } from "vitest";
import { programIn } from "../../models/catalog/model-name.ts";
import { canLead, hiredAs, incompletePrograms, KNOWN_PROGRAMS, modelFor, programsOf } from "./programs.ts";

test("what the config says of a program we know is laid over it, field by field", () => {
  const { codex } = programsOf({ programs: { codex: { env: ["MY_KEY"], permissions: "ask" } } });
  expect(codex).toEqual({ ...KNOWN_PROGRAMS.codex, env: ["MY_KEY"], permissions: "ask" });
});

test("a program of another kind has nothing of the one we know by its name: no keys, no hosts, no files", () => {
  const mine = { kind: "autonomous" as const, command: ["my-codex"] };
  expect(programsOf({ programs: { codex: mine } }).codex).toEqual(mine);
});

test("a profile without kind or command is nobody's, unless we know its program", () => {
  const programs = { codex: {}, aider: { command: ["aider"] }, other: {} };
  expect(incompletePrograms({ programs })).toEqual([
    { name: "aider", missing: ["kind"] },
    { name: "other", missing: ["kind", "command"] },
  ]);
  expect(Object.keys(programsOf({ programs }))).toEqual(Object.keys(KNOWN_PROGRAMS));
});

test("a program may stand where a model does, alone or with its model; before a slash, a provider is the provider", () => {
  const programs = programsOf({ programs: { mine: { kind: "acp", command: ["mine"] } } });
  const names = {
    programFor: (model: string) => programIn(model, (name) => Object.hasOwn(programs, name)),
    kindOf: (name: string) => programs[name]?.kind,
  };
  const hired = [
    "codex",
    "codex/gpt-5.5",
    "gemini",
    "gemini/gemini-3-pro",
    "opencode/openrouter/a/b",
    "mine",
    "openai/m",
  ];
  expect(hired.map((model) => hiredAs({ model }, names))).toEqual([
    { kind: "acp", program: "codex", model: "codex/default" },
    { kind: "acp", program: "codex", model: "codex/gpt-5.5" },
    { kind: "acp", program: "gemini", model: "gemini/default" },
    { kind: "harnessed", model: "gemini/gemini-3-pro" },
    { kind: "acp", program: "opencode", model: "opencode/openrouter/a/b" },
    { kind: "acp", program: "mine", model: "mine/default" },
    { kind: "harnessed", model: "openai/m" },
  ]);
  expect(modelFor(hiredAs({ model: "codex" }, names))).toBe(null);
  expect(modelFor(hiredAs({ model: "opencode/openrouter/a/b" }, names))).toBe("openrouter/a/b");
});

test("who cannot call tools cannot lead", () => {
  expect((["claude_code", "acp", "autonomous", "mesh"] as const).map(canLead)).toEqual([true, true, false, false]);
});
