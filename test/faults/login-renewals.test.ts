import { mkdir, readFile, rename, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { Clock } from "../../src/protocol/clock.ts";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { LoginBroker } from "../../src/runtime/logins/login-broker.ts";
import { nodeDisk } from "../../src/store/disk/node-disk.ts";
import { temporaryHome } from "../../src/testing/index.ts";
import { LOGIN_FILES, LOGIN_PATHS, signIn } from "../../src/testing/login-files.ts";
import { type OAuthServer, startOAuthServer } from "../../src/testing/oauth-server.ts";
import { KNOWN_PROGRAMS } from "../../src/workers/outside/programs.ts";

/*
 * Many who want a login that ends: workers of several processes, and the person's own program, which renews by itself.
 * No refresh token may be used twice, or the server ends the login for all of them.
 */

const RENEWALS = Number(process.env.AGIRAPH_RENEWALS ?? 20);
const WORKERS = 10;
const PROCESSES = 3;

test(`${RENEWALS} renewals over ${WORKERS} workers and the person's own program: no refresh token is used twice`, {
  timeout: 120_000 + RENEWALS * 5000,
}, async () => {
  await using me = await temporaryHome();
  const clock = jumpingClock();
  await using server = await startOAuthServer({ now: clock.now });
  const file = await signIn(me.path, "claude", server.login());
  const env = { HOME: me.path };
  // Each as the runtime of another process has it: they know each other by the files alone.
  const brokers = Array.from(
    { length: PROCESSES },
    () => new LoginBroker({ home: join(me.path, "agiraph"), env, clock, fetch: server.fetch }),
  );
  const profile = KNOWN_PROGRAMS["claude-code"];
  if (!profile) throw new Error("no Claude Code");
  const homes = Array.from({ length: WORKERS }, (_, at) => join(me.path, "workers", `${at}`));
  await Promise.all(homes.map((home) => mkdir(home, { recursive: true })));
  const brokerOf = (worker: number) => {
    const broker = brokers[worker % PROCESSES];
    if (!broker) throw new Error("no such process");
    return broker;
  };
  const loans = await Promise.all(
    homes.map((home, worker) => brokerOf(worker).lend(profile, home, () => ({ url: "http://127.0.0.1:1" }))),
  );
  while (server.answers.length < RENEWALS) {
    clock.jump(56 * 60_000); // both we and the person's program think that it ends soon
    const { promise: hasLock, resolve: onLock } = Promise.withResolvers<void>();
    const ours = hasLock.then(() => Promise.all(homes.map((_, worker) => brokerOf(worker).problem(profile))));
    await Promise.all([ownProgram(file, server, clock, onLock), ours]);
    const copies = await Promise.all(homes.map((home) => readFile(join(home, LOGIN_PATHS.claude), "utf8")));
    const { claudeAiOauth } = JSON.parse(await readFile(file, "utf8"));
    expect(server.accepts(claudeAiOauth.accessToken)).toBe(true);
    for (const copy of copies) {
      expect(server.accepts(JSON.parse(copy).claudeAiOauth.accessToken)).toBe(true);
      expect(copy).not.toContain("refreshToken");
    }
  }
  for (const loan of loans) loan.end();
  await Promise.all(brokers.map((broker) => broker.close()));
  expect(server.answers.filter((answer) => answer !== "renewed")).toEqual([]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

/**
 * Claude Code's own way: its lock, the file read again under it, a request, the file replaced. It renews while one of
 * ours is about to.
 */
async function ownProgram(file: string, server: OAuthServer, clock: Clock, onLock: () => void): Promise<void> {
  const lock = join(dirname(file), ".oauth_refresh.lock");
  const legacy = `${dirname(file)}.lock`;
  await untilMade(lock);
  await untilMade(legacy);
  onLock();
  try {
    const found = async () => JSON.parse(await readFile(file, "utf8")).claudeAiOauth;
    const isDue = async () => (await found()).expiresAt - clock.now() <= 5 * 60_000;
    while ((await isDue()) && !isHeld(`${file}.agiraph-lock`)) await new Promise((resolve) => setImmediate(resolve));
    if (!(await isDue())) return;
    const login = await found();
    const body = JSON.stringify({ grant_type: "refresh_token", refresh_token: login.refreshToken });
    const headers = { "content-type": "application/json" };
    const answer = JSON.parse(await (await server.fetch("", { method: "POST", headers, body })).text());
    const expires = clock.now() + answer.expires_in * 1000;
    const next = LOGIN_FILES.claude({ access: answer.access_token, refresh: answer.refresh_token, expires });
    await writeFile(`${file}.own`, JSON.stringify(next), { mode: 0o600 });
    await rename(`${file}.own`, file);
  } finally {
    await rmdir(legacy);
    await rmdir(lock);
  }
}

function isHeld(path: string): boolean {
  const lock = nodeDisk.lock(path);
  lock?.release();
  return lock === undefined;
}

async function untilMade(folder: string): Promise<void> {
  for (;;) {
    try {
      return await mkdir(folder).then(() => {});
    } catch {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** The real time, moved forward at will. */
function jumpingClock(): Clock & { jump(ms: number): void } {
  let ahead = 0;
  return {
    now: () => systemClock.now() + ahead,
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    jump(ms) {
      ahead += ms;
    },
  };
}
