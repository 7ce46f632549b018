import { expect, test } from "vitest";
import { incompletePrograms, KNOWN_PROGRAMS, programsOf } from "./programs.ts";

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
