import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { LOGIN_FILES, signIn } from "../testing/login-files.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { agiraph } from "./testing/cli-process.ts";

const SLOW = { timeout: 120_000 };

/** A person who has Claude Code alone; as it signs in (`claude auth login`), it writes the file that it is given. */
async function person(writes?: object) {
  const home = await temporaryHome();
  const bin = join(home.path, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(home.path, "login.json"), JSON.stringify(writes ?? {}));
  const signsIn = writes
    ? `mkdir -p "$HOME/.claude"; cp "$HOME/login.json" "$HOME/.claude/.credentials.json"`
    : "exit 1";
  await writeFile(
    join(bin, "claude"),
    `#!/bin/sh\n[ "$1" = --version ] && echo 2.1.325 && exit\n[ "$*" = 'auth login' ] || exit 1\n${signsIn}\n`,
  );
  await chmod(join(bin, "claude"), 0o755);
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: home.path };
  const call = (...words: string[]) => agiraph(words, { folder: home.path, env });
  return { home: home.path, call, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

const inDays = (days: number) => Date.now() + days * 86_400_000;

test("status tells of each program whether it is installed and signed in, and until when", SLOW, async () => {
  await using me = await person();
  const expires = inDays(3);
  const where = await signIn(me.home, "claude", { access: "a", refresh: "r", expires });
  const { code, stdout } = await me.call("programs", "status", "claude", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    programs: [
      {
        ...{ name: "claude-code", installed: true, version: "2.1.325" },
        ...{ how: "login", where, as: "Claude max", usable: true, renewable: true, problem: null },
        ...{ expires_at: expires / 1000, renewed_at: null, failed_at: null },
      },
    ],
  });
  const lines = (await me.call("programs", "status")).stdout.split("\n");
  expect(lines[0]).toBe(
    `✓ claude-code  2.1.325, signed in (Claude max) by ${where}, expires in 3 days, is renewed automatically`,
  );
  expect(lines[1]).toBe("– codex        not installed: npm install -g @agentclientprotocol/codex-acp");
});

test("login runs the program's own login, and then says whether workers can use it", SLOW, async () => {
  await using me = await person(LOGIN_FILES.claude({ access: "a", refresh: "r", expires: inDays(3) }));
  const before = await me.call("programs", "status", "claude-code");
  expect(before.stdout).toContain("not signed in");
  expect(before.stdout).toContain("sign in: agiraph programs login claude-code");
  const { code, stderr } = await me.call("programs", "login", "claude");
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining("claude-code: signed in (Claude max)"),
  });

  await using other = await person();
  expect((await other.call("programs", "login", "claude")).code).toBe(1);
  const wrong = await other.call("programs", "login", "claud");
  expect({ code: wrong.code, stderr: wrong.stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining(
      'There is no program "claud". Did you mean claude? Choose from: claude-code, codex, gemini, opencode.',
    ),
  });
  const action = await other.call("programs", "statu");
  expect([action.code, action.stderr]).toEqual([
    2,
    '✗ There is no command "programs statu". Did you mean status? Choose from: login, status.\n',
  ]);
});

test("login finds the program that signs in where npm puts it: beside the one that works", SLOW, async () => {
  await using me = await person();
  const folder = join(me.home, "lib/node_modules/codex-acp");
  const put = async (path: string, script: string) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
  };
  await put(join(folder, "dist/index.js"), "echo 2.6.0");
  await symlink(join(folder, "dist/index.js"), join(me.home, "bin/codex-acp"));
  const token = LOGIN_FILES.codex({ access: "a", refresh: "r", expires: inDays(3) });
  await writeFile(join(me.home, "login.json"), JSON.stringify(token));
  const missing = await me.call("programs", "login", "codex");
  expect({ code: missing.code, stderr: missing.stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("codex was not found. Install it: npm install -g @agentclientprotocol/codex-acp"),
  });
  await put(
    join(folder, "node_modules/.bin/codex"),
    `[ "$*" = login ] && mkdir -p "$HOME/.codex" && cp "$HOME/login.json" "$HOME/.codex/auth.json"`,
  );
  const { code, stderr } = await me.call("programs", "login", "codex");
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("codex: signed in") });
});
