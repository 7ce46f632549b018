import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { gitIdentity, identityVariables } from "./git-identity.ts";

const { PATH } = process.env;

test("git finds the person's name and address in it, as they are, and nothing else of their settings", async () => {
  await using me = await temporaryHome();
  const name = String.raw`Ann "A." \ O'Hara`;
  const config = `[user]\n\tname = ${JSON.stringify(name)}\n\temail = ann@example.org\n\tsigningkey = secret\n[credential]\n\thelper = store\n`;
  await writeFile(join(me.path, ".gitconfig"), config);
  const identity = await gitIdentity({ HOME: me.path, PATH });
  await writeFile(join(me.path, ".gitconfig"), identity ?? "");
  const env = { HOME: me.path, PATH };
  const told = execFileSync("git", ["config", "--global", "--list"], { env, encoding: "utf8" });
  expect(told).toBe(`user.name=${name}\nuser.email=ann@example.org\n`);
});

test("Gemini CLI, which keeps its commands from such a file, is told by variables", async () => {
  await using me = await temporaryHome();
  await writeFile(join(me.path, ".gitconfig"), "[user]\n\tname = Ann O'Hara\n\temail = ann@example.org\n");
  const variables = await identityVariables({ quirks: "gemini" }, { HOME: me.path, PATH });
  const env = { ...variables, HOME: "/nowhere", PATH, GIT_CONFIG_GLOBAL: "/dev/null" };
  const whoAmI = (what: string) => execFileSync("git", ["var", what], { cwd: "/", env, encoding: "utf8" });
  for (const what of ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"])
    expect(whoAmI(what)).toMatch(/^Ann O'Hara <ann@example\.org> /);
  expect(await identityVariables({ quirks: "codex" }, { HOME: me.path, PATH })).toEqual({});
});

test("where git knows nobody, or is not there, there is none", async () => {
  await using me = await temporaryHome();
  expect(await gitIdentity({ HOME: me.path, PATH })).toBe(null);
  expect(await gitIdentity({ HOME: me.path, PATH: me.path })).toBe(null);
});
