import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type LOGIN_FILES, LOGIN_PATHS, signIn } from "../../testing/login-files.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { startOAuthServer } from "../../testing/oauth-server.ts";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { KNOWN_PROGRAMS } from "../../workers/outside/programs.ts";
import { LoginBroker } from "../logins/login-broker.ts";
import { LoginLoan } from "./login-loan.ts";

/** The login that a worker's program finds in its home, where the person is signed in and has these keys. */
async function lentTo(name: string, program: keyof typeof LOGIN_FILES, keys: Record<string, string>) {
  await using home = await temporaryHome();
  const clock = manualClock();
  await using server = await startOAuthServer({ now: clock.now });
  await signIn(home.path, program, { ...server.login(), expires: clock.now() + 3_600_000 });
  const profile = KNOWN_PROGRAMS[name];
  if (!profile) throw new Error("no such program");
  const env = { HOME: home.path, ...keys };
  const logins = new LoginBroker({ home: home.path, env, clock, fetch: server.fetch });
  const worker = join(home.path, "worker");
  await mkdir(worker);
  const loan = new LoginLoan(logins, profile, worker, env);
  await loan.begin("http://door");
  loan.end();
  await logins.close();
  const text = await readFile(join(worker, LOGIN_PATHS[program]), "utf8").catch(() => null);
  return text === null ? null : Object.keys(JSON.parse(text));
}

test.each([
  ["claude-code", "claude", { ANTHROPIC_API_KEY: "k" }],
  ["codex", "codex", { OPENAI_API_KEY: "k" }],
  ["gemini", "gemini", { GEMINI_API_KEY: "k" }],
] as const)("LOGIN-LOAN-1: %s that has a key gets no login", async (name, program, keys) => {
  expect(await lentTo(name, program, {})).not.toBeNull();
  expect(await lentTo(name, program, keys)).toBeNull();
});

test("LOGIN-LOAN-1: opencode gets the logins of vendors for which it has no key", async () => {
  expect(await lentTo("opencode", "opencode", { ANTHROPIC_API_KEY: "k" })).toEqual(["openai", "openrouter"]);
  expect(await lentTo("opencode", "opencode", { OPENAI_API_KEY: "k" })).toEqual(["openrouter"]);
});
