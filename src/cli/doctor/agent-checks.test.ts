import { existsSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { skipped } from "../../../test/try-sandbox.ts";
import type { Config } from "../../protocol/index.ts";
import { temporaryHome } from "../../testing/index.ts";
import { signIn } from "../../testing/login-files.ts";
import { checkAgents } from "./agent-checks.ts";

/** Programs that answer as the real ones do, which were asked by hand. */
async function installed(bin: string, programs: Record<string, string>): Promise<void> {
  await mkdir(bin, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
}

const claude = (loggedIn: boolean) =>
  `case "$*" in --version) echo '2.1.325 (Claude Code)';; 'auth status') echo '{ "loggedIn": ${loggedIn} }'; ${loggedIn ? "true" : "exit 1"};; esac`;
const codex = (code: number) => `[ "$*" = 'login status' ] && exit ${code}; echo codex`;

test("each agent is asked for its version and whether it is signed in", async () => {
  await using home = await temporaryHome();
  const bin = join(home.path, "bin");
  const PATH = `${bin}:/usr/bin:/bin`;
  await installed(bin, {
    claude: claude(true),
    codex: codex(0),
    "codex-acp": "echo '@agentclientprotocol/codex-acp 2.6.0'",
    gemini: "echo 0.61.0",
    opencode: `[ "$1" = auth ] && echo '└  2 credentials' || echo 1.18.33`,
  });
  expect(await checkAgents({ home: home.path, env: { PATH, HOME: home.path }, config: {} }, 5000)).toEqual([
    { name: "claude", state: "ok", detail: `2.1.325 (Claude Code) (${bin}/claude), signed in` },
    { name: "codex", state: "ok", detail: `@agentclientprotocol/codex-acp 2.6.0 (${bin}/codex-acp), signed in` },
    { name: "gemini", state: "ok", detail: `0.61.0 (${bin}/gemini), it does not say whether it is signed in` },
    { name: "opencode", state: "ok", detail: `1.18.33 (${bin}/opencode), signed in` },
  ]);
});

test("who is not signed in, not there, or does not answer in time costs something, and it is said what", async () => {
  await using home = await temporaryHome();
  const bin = join(home.path, "bin");
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: home.path, OPENAI_API_KEY: "sk-any" };
  await installed(bin, {
    claude: claude(false),
    codex: codex(1),
    "codex-acp": "echo 2.6.0",
    opencode: "exec sleep 60",
  });
  const config = { programs: { aider: { kind: "autonomous" as const, command: ["aider"] } } };
  expect(await checkAgents({ home: home.path, env, config }, 1500)).toEqual([
    {
      name: "claude",
      state: "missing",
      detail: `2.1.325 (Claude Code) (${bin}/claude), not signed in`,
      costs: "no claude-code models and workers; sign in: agiraph programs login claude-code",
    },
    { name: "codex", state: "ok", detail: `2.6.0 (${bin}/codex-acp), OPENAI_API_KEY is set` },
    {
      name: "gemini",
      state: "missing",
      detail: "gemini is not on PATH",
      costs: "no Gemini CLI workers; install it: npm install -g @google/gemini-cli",
    },
    {
      name: "opencode",
      state: "ok",
      detail: `does not report its version (${bin}/opencode), it does not say whether it is signed in`,
    },
    {
      name: "aider",
      state: "missing",
      detail: "aider was not found",
      costs: "no aider workers; set programs.aider.command in config.json",
    },
  ]);
});

test("programs of config.json are looked for too: asked as the one they speak like, and never begun by it", async () => {
  await using home = await temporaryHome();
  const bin = join(home.path, "bin");
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: home.path, GIVEN: "yes" };
  await installed(bin, { claude2: claude(false), other: "echo 3.2.1", plain: `touch ${home.path}/begun` });
  const programs: Config["programs"] = {
    second: { kind: "claude_code", command: ["claude2"] },
    other: { kind: "acp", command: ["other"], env: ["GIVEN", "KEY_OF_OTHER"] },
    plain: { kind: "autonomous", command: ["plain"] },
    script: { kind: "autonomous", command: ["sh", "/nowhere/agent.sh"] },
    team: { kind: "mesh", command: ["writing"] },
  };
  const checks = await checkAgents({ home: home.path, env, config: { programs } }, 5000);
  expect(checks.slice(4)).toEqual([
    {
      name: "second",
      state: "missing",
      detail: `2.1.325 (Claude Code) (${bin}/claude2), not signed in`,
      costs: "no second workers; sign in: agiraph programs login second",
    },
    { name: "other", state: "ok", detail: `3.2.1 (${bin}/other); not set: KEY_OF_OTHER` },
    { name: "plain", state: "ok", detail: `${bin}/plain` },
    {
      name: "script",
      state: "missing",
      detail: "/nowhere/agent.sh was not found",
      costs: "no script workers; set programs.script.command in config.json",
    },
    { name: "team", state: "ok", detail: "the mesh writing, in agents whose project declares it" },
  ]);
  expect(existsSync(join(home.path, "begun"))).toBe(false);
});

test.skipIf(skipped)(
  `a program is asked as a worker finds it, with our copy of its login, and it is told until when ${skipped}`,
  async () => {
    await using home = await temporaryHome();
    const bin = join(home.path, "bin");
    const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: home.path };
    const status = `cat "$HOME/.claude/.credentials.json" ${home.path}/.claude/.credentials.json > seen 2>/dev/null`;
    const answers = `grep -q refreshToken seen && isIn=false || isIn=true; grep -q accessToken seen || isIn=false`;
    const says = `echo "{ \\"loggedIn\\": $isIn }"`;
    await installed(bin, {
      claude: `[ "$1" = --version ] && echo 2.1.325 && exit; cd; ${status}; ${answers}; ${says}`,
    });
    const check = async () => (await checkAgents({ home: home.path, env, config: {} }, 10_000))[0];
    const expires = Date.now() + 3 * 86_400_000;
    const where = await signIn(home.path, "claude", { access: "a", refresh: "r", expires });
    expect(await check()).toEqual({
      name: "claude",
      state: "ok",
      detail: `2.1.325 (${bin}/claude), signed in (Claude max) by ${where}, expires in 3 days, is renewed automatically`,
    });
    await signIn(home.path, "claude", { access: "a", expires: Date.now() - 86_400_000 });
    expect(await check()).toMatchObject({
      state: "missing",
      detail: expect.stringContaining("its login cannot be used: it has expired, and it cannot be renewed"),
    });
  },
);
