import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { signIn } from "../../testing/login-files.ts";
import { signedInPerson, whileAdvancing } from "../../testing/signed-in-person.ts";

const MINUTE = 60_000;
const SLOW = { timeout: 120_000 };

test("RENEWAL-LOCK-1: while Claude Code renews, we wait, and take what it has brought", async () => {
  await using me = await signedInPerson();
  await me.clock.advance(51 * MINUTE);
  const lock = join(dirname(me.path), ".oauth_refresh.lock");
  await mkdir(lock);
  const asked = me.broker().fresh();
  await me.clock.sleeping();
  const theirs = me.server.login();
  await signIn(me.home, "claude", theirs);
  await rm(lock, { recursive: true });
  expect(await whileAdvancing(me.clock, asked)).toMatchObject({ login: { access: theirs.access } });
  expect(me.server.answers).toEqual([]);
});

test("RENEWAL-LOCK-2: a lock of Claude Code that gives no sign of life for a minute is taken over", SLOW, async () => {
  await using me = await signedInPerson();
  await me.clock.advance(51 * MINUTE);
  await mkdir(join(dirname(me.path), ".oauth_refresh.lock"));
  const began = me.clock.now();
  expect(await whileAdvancing(me.clock, me.broker().fresh())).toMatchObject({ login: { refresh: "refresh-2" } });
  expect(me.clock.now() - began).toBeGreaterThanOrEqual(MINUTE);
  expect((await readdir(dirname(me.path))).sort()).toEqual([".credentials.json", ".credentials.json.agiraph-lock"]);
});

test("RENEWAL-LOCK-2: both locks of a holder that was killed are taken over in that minute", SLOW, async () => {
  await using me = await signedInPerson();
  await me.clock.advance(51 * MINUTE);
  const folder = dirname(me.path);
  for (const left of [join(folder, ".oauth_refresh.lock"), `${folder}.lock`]) await mkdir(left);
  expect(await whileAdvancing(me.clock, me.broker().fresh())).toMatchObject({ login: { refresh: "refresh-2" } });
  expect((await readdir(folder)).sort()).toEqual([".credentials.json", ".credentials.json.agiraph-lock"]);
  expect(await readdir(me.home)).not.toContain(".claude.lock");
});

test(
  "a Claude Code that hangs in its renewal, and lives, is waited for only a minute; nothing of its is taken",
  SLOW,
  async () => {
    await using me = await signedInPerson();
    await me.clock.advance(51 * MINUTE);
    const lock = join(dirname(me.path), ".oauth_refresh.lock");
    await mkdir(lock);
    const login = me.broker();
    let isOver = false;
    const asked = login.fresh().finally(() => {
      isOver = true;
    });
    for (let at = 1; !isOver; at++) {
      await Promise.race([me.clock.sleeping(), asked]);
      await utimes(lock, at, at);
      await me.clock.advance(50);
    }
    expect(await asked).toMatchObject({ kind: "usable", login: { access: me.first.access } });
    expect(me.notes.note("claude-code")).toMatchObject({
      failure: "It could not be renewed: another process has been renewing it for more than a minute",
    });
    expect([me.server.answers, await readdir(lock)]).toEqual([[], []]);
    await rm(lock, { recursive: true });
    await me.clock.advance(5000);
    expect(await login.fresh()).toMatchObject({ kind: "usable", login: { refresh: "refresh-2" } });
  },
);

test("RENEWAL-LOCK-1: while Codex holds its lock, we wait", async () => {
  await using me = await signedInPerson("codex");
  await me.clock.advance(51 * MINUTE);
  const lock = join(dirname(me.path), "auth.lock");
  const holder = spawn("flock", [lock, "sh", "-c", "echo held; read line"], { stdio: ["pipe", "pipe", "ignore"] });
  await once(holder.stdout, "data");
  const asked = me.broker().fresh();
  await vi.waitFor(async () => expect(await waitingFor(lock)).toBe(1), SLOW);
  const theirs = me.server.login();
  await signIn(me.home, "codex", theirs);
  expect(me.server.answers).toEqual([]);
  holder.stdin.end();
  expect(await asked).toMatchObject({ login: { access: theirs.access } });
  expect(me.server.answers).toEqual([]);
});

/** How many processes wait for this lock. */
async function waitingFor(path: string): Promise<number> {
  const { ino } = await stat(path);
  const lines = (await readFile("/proc/locks", "utf8")).split("\n");
  return lines.filter((line) => line.includes("->") && line.includes(`:${ino} `)).length;
}
