import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { LOGIN_FILES, LOGIN_PATHS, signIn } from "../../testing/login-files.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { startOAuthServer } from "../../testing/oauth-server.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { KNOWN_PROGRAMS } from "../../workers/outside/programs.ts";
import { LoginBroker } from "./login-broker.ts";
import { NO_REFRESH_TOKEN } from "./login-format.ts";
import { loginStatus } from "./login-status.ts";

const PROFILES = { claude: "claude-code", codex: "codex", gemini: "gemini", opencode: "opencode" } as const;
const DOOR = { url: "http://127.0.0.1:3129/login" };
const MINUTE = 60_000;
const PATIENT = { timeout: 120_000 };

async function person() {
  const home = await temporaryHome();
  const clock = manualClock();
  const server = await startOAuthServer({ now: clock.now });
  const options = { home: join(home.path, "agiraph"), env: { HOME: home.path }, clock, fetch: server.fetch };
  const broker = new LoginBroker(options);
  const worker = join(home.path, "worker");
  await mkdir(worker);
  return {
    ...{ home: home.path, clock, server, options, broker, worker },
    async [Symbol.asyncDispose]() {
      await broker.close();
      await server[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

function profileOf(program: keyof typeof PROFILES) {
  const profile = KNOWN_PROGRAMS[PROFILES[program]];
  if (!profile) throw new Error("no such program");
  return profile;
}

test.each(["claude", "codex", "gemini", "opencode"] as const)(
  "BROKER-1: a worker of %s gets no refresh token, and nothing of other logins in the file",
  async (program) => {
    await using me = await person();
    const { access, refresh, expires } = me.server.login();
    await signIn(me.home, program, { access, refresh, expires });
    const loans = await me.broker.lend(profileOf(program), me.worker, () => DOOR);
    const copy = JSON.parse(await readFile(join(me.worker, LOGIN_PATHS[program]), "utf8"));
    const whole = LOGIN_FILES[program]({ access, refresh: NO_REFRESH_TOKEN, expires });
    if (program === "claude") {
      const { claudeAiOauth } = LOGIN_FILES.claude({ access, expires });
      expect(copy).toEqual({ claudeAiOauth });
    } else if (program === "gemini") {
      expect(copy).toMatchObject({ type: "external_account_authorized_user", token_url: DOOR.url });
      expect(copy.refresh_token).toBe(NO_REFRESH_TOKEN);
    } else expect(copy).toEqual(whole);
    expect(JSON.stringify(copy)).not.toContain(refresh);
    expect(loans.env).toEqual(program === "codex" ? { CODEX_REFRESH_TOKEN_URL_OVERRIDE: DOOR.url } : {});
    loans.end();
  },
);

test("BROKER-2: the copy is replaced before it ends, and when the person's file changes; a link in its place is not followed", {
  timeout: 120_000,
}, async () => {
  await using me = await person();
  const file = await signIn(me.home, "claude", me.server.login());
  // As homes of earlier versions have it.
  await mkdir(join(me.worker, ".claude"));
  await symlink(file, join(me.worker, LOGIN_PATHS.claude));
  const loans = await me.broker.lend(profileOf("claude"), me.worker, () => DOOR);
  const tokenIn = async (home: string) =>
    JSON.parse(await readFile(join(home, LOGIN_PATHS.claude), "utf8")).claudeAiOauth.accessToken;
  const before = await tokenIn(me.worker);
  expect(await tokenIn(me.home)).toBe(before);
  await me.clock.sleeping();
  await me.clock.advance(55 * MINUTE);
  await vi.waitFor(async () => expect(await tokenIn(me.worker)).not.toBe(before), PATIENT);
  expect(await tokenIn(me.worker)).toBe(await tokenIn(me.home));
  expect(me.server.answers).toEqual(["renewed"]);

  const theirs = me.server.login();
  await signIn(me.home, "claude", theirs);
  await me.clock.sleeping();
  await me.clock.advance(MINUTE);
  await vi.waitFor(async () => expect(await tokenIn(me.worker)).toBe(theirs.access), PATIENT);
  loans.end();
});

test("what a login is, is told without renewing it: how, as whom, until when, and what went wrong", async () => {
  await using me = await person();
  const { broker, options } = me;
  const nothing = {
    ...{ how: null, where: null, as: null, usable: false, expires_at: null, renewable: false },
    ...{ renewed_at: null, problem: null, failed_at: null },
  };
  const claude = profileOf("claude");
  expect(await loginStatus(claude, broker, options)).toEqual(nothing);
  const key = { ...options, env: { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-x" } };
  const variable = { how: "variable", where: "CLAUDE_CODE_OAUTH_TOKEN", usable: true };
  expect(await loginStatus(claude, broker, key)).toEqual({ ...nothing, ...variable });

  const first = me.server.login();
  const where = await signIn(me.home, "claude", first);
  const login = { ...nothing, how: "login", where, as: "Claude max", usable: true, renewable: true };
  expect(await loginStatus(claude, broker, options)).toEqual({ ...login, expires_at: first.expires });
  await me.clock.advance(55 * MINUTE);
  expect(await broker.problem(claude)).toBeNull();
  expect(await loginStatus(claude, broker, options)).toEqual({
    ...login,
    renewed_at: me.clock.now(),
    expires_at: me.clock.now() + 60 * MINUTE,
  });

  me.server.revoke(first.access);
  await me.clock.advance(61 * MINUTE);
  const problem =
    "platform.claude.com refuses to renew it (invalid_grant). It was signed out, or it was renewed on another machine";
  expect(await broker.problem(claude)).toBe(problem);
  const ended = { how: "login", where, problem, renewed_at: expect.any(Number), failed_at: me.clock.now() };
  expect(await loginStatus(claude, broker, options)).toEqual({ ...nothing, ...ended });
  expect(dirname(where)).toBe(join(me.home, ".claude"));
});

test("on a Mac, where Claude Code keeps its login in the keychain, what to do is told", async () => {
  await using me = await person();
  const asked = async (program: keyof typeof PROFILES) =>
    (await loginStatus(profileOf(program), me.broker, { ...me.options, platform: "darwin" })).problem;
  expect(await asked("claude")).toMatch(/keychain.*run claude setup-token, and put CLAUDE_CODE_OAUTH_TOKEN=… into/);
  expect(await asked("codex")).toBeNull();
  await signIn(me.home, "claude", me.server.login());
  expect(await asked("claude")).toBeNull();
});
