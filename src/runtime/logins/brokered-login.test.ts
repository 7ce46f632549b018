import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { LOGIN_FILES, signIn } from "../../testing/login-files.ts";
import type { OAuthServer } from "../../testing/oauth-server.ts";
import { PROGRAMS_WITH_LOGINS, signedInPerson, whileAdvancing } from "../../testing/signed-in-person.ts";
import { BrokeredLogin } from "./brokered-login.ts";
import { CredentialFile } from "./credential-file.ts";
import { LOGIN_FORMATS } from "./login-formats.ts";

const MINUTE = 60_000;

const renewals = (server: OAuthServer) => server.answers.filter((each) => each === "renewed").length;

test.each(PROGRAMS_WITH_LOGINS)(
  "LOGIN-1: many who ask %s's login at once cause one renewal, and the file is whole",
  async (program) => {
    await using me = await signedInPerson(program);
    const [one, other] = [me.broker(), me.broker()];
    expect(await one.fresh()).toMatchObject({ kind: "usable", login: { access: me.first.access } });
    expect(me.server.answers).toEqual([]);
    await me.clock.advance(51 * MINUTE);
    const asking = [...Array.from({ length: 10 }, () => one.fresh()), other.fresh()];
    // One waits for the other's lock; no time passes for it while that one renews.
    await Promise.race(asking);
    const states = await whileAdvancing(me.clock, Promise.all(asking));
    expect(me.server.answers).toEqual(["renewed"]);
    const [state] = states;
    if (!state || !("login" in state)) throw new Error("no login");
    expect(states).toEqual(states.map(() => state));
    const { access, refresh, expires } = state.login;
    expect(me.server.accepts(access)).toBe(true);
    const tokens = { access, refresh: refresh ?? "", expires: expires ?? 0 };
    expect(await me.file()).toEqual(withNewIds(LOGIN_FILES[program](tokens)));
    expect((await stat(me.path)).mode & 0o777).toBe(0o600);
  },
);

test("LOGIN-4: while the server fails, the old token is used and the pauses grow; then it is renewed", async () => {
  await using me = await signedInPerson();
  const login = me.broker();
  await me.clock.advance(51 * MINUTE);
  me.server.next.push(500, 503, "garbage");
  for (const pause of [5000, 10_000, 20_000]) {
    expect(await login.fresh()).toMatchObject({ kind: "usable", login: { access: me.first.access } });
    // Nobody asks again before the pause is over.
    await login.fresh();
    await me.clock.advance(pause);
  }
  expect(me.server.answers).toEqual(["failed", "failed", "failed"]);
  expect(me.notes.note("claude-code")).toMatchObject({
    failure: "platform.claude.com gave an answer that cannot be understood",
  });
  expect(await login.fresh()).toMatchObject({ kind: "usable", login: { refresh: "refresh-2" } });
  expect(me.notes.note("claude-code")).toEqual({ renewed_at: me.clock.now() });
});

test("a server that hangs is given up after 30 s, and an expired login says why it cannot be used", async () => {
  await using me = await signedInPerson();
  const login = me.broker();
  await me.clock.advance(61 * MINUTE);
  me.server.next.push("hang");
  const asked = login.fresh();
  await me.server.hung();
  await me.clock.advance(30_000);
  expect(await asked).toMatchObject({ kind: "expired", why: "platform.claude.com did not answer within 30 s" });
  await me.clock.advance(5000);
  expect(await login.fresh()).toMatchObject({ kind: "usable" });
});

test("a login that is revoked is over, is not asked for again, and goes on when the person has signed in", async () => {
  await using me = await signedInPerson();
  const login = me.broker();
  me.server.revoke(me.first.access);
  await me.clock.advance(51 * MINUTE);
  expect(await login.fresh()).toMatchObject({ kind: "usable" });
  await me.clock.advance(10 * MINUTE);
  const why = `platform.claude.com refuses to renew it (invalid_grant). It was signed out, or it was renewed on another machine`;
  expect(await login.fresh()).toEqual({ kind: "ended", why });
  // Another process of ours knows it, too.
  expect(await me.broker().fresh()).toEqual({ kind: "ended", why });
  expect(me.server.answers).toEqual(["unknown"]);
  await signIn(me.home, "claude", me.server.login());
  expect(await login.fresh()).toMatchObject({ kind: "usable", login: { refresh: "refresh-2" } });
});

test("a login that was renewed on another machine is over here: its used token is sent once, and a person is needed", async () => {
  await using me = await signedInPerson();
  const login = me.broker();
  // A copy of the file, with which somebody has renewed it: the vendor ends a login whose token comes twice.
  await me.server.fetch("", tokenRequest(me.first.refresh));
  await me.clock.advance(51 * MINUTE);
  const before = await me.file();
  for (let times = 0; times < 5; times++) {
    expect(await login.fresh()).toMatchObject({ kind: "usable", login: { access: me.first.access } });
    await me.clock.advance(MINUTE);
  }
  expect(me.server.answers).toEqual(["renewed", "reused"]);
  await me.clock.advance(10 * MINUTE);
  const why = expect.stringContaining("It was signed out, or it was renewed on another machine");
  expect(await login.fresh()).toEqual({ kind: "ended", why });
  expect([me.server.answers, await me.file()]).toEqual([["renewed", "reused"], before]);
  await signIn(me.home, "claude", me.server.login());
  expect(await login.fresh()).toMatchObject({ kind: "usable" });
});

test("a token that is refused before its time is renewed, at most once a minute", async () => {
  await using me = await signedInPerson();
  const login = me.broker();
  await me.clock.advance(5 * MINUTE);
  login.reject(me.first.access);
  const state = await login.fresh();
  expect(state).toMatchObject({ kind: "usable", login: { refresh: "refresh-2" } });
  const access = "login" in state ? state.login.access : "";
  for (let times = 0; times < 10; times++) await login.fresh(access);
  expect(renewals(me.server)).toBe(1);
  await me.clock.advance(MINUTE);
  await login.fresh(access);
  expect(renewals(me.server)).toBe(2);
});

test("LOGIN-3: what the person's own program writes during a renewal wins", async () => {
  await using me = await signedInPerson();
  const login = me.broker();
  await me.clock.advance(51 * MINUTE);
  const theirs = me.server.login();
  const slow: typeof fetch = async (url, init) => {
    const answer = await me.server.fetch(url, init);
    await signIn(me.home, "claude", theirs);
    return answer;
  };
  const notes = me.notes;
  const format = LOGIN_FORMATS[0];
  if (!format) throw new Error("no format");
  const { signal } = new AbortController();
  const ports = { env: {}, clock: me.clock, fetch: slow, notes, signal };
  const slowLogin = new BrokeredLogin(format, me.path, new CredentialFile(me.path), ports);
  expect(await slowLogin.fresh()).toMatchObject({ kind: "usable", login: { access: theirs.access } });
  expect(await me.file()).toEqual(LOGIN_FILES.claude(theirs));
  expect(await login.fresh()).toMatchObject({ login: { access: theirs.access } });
  expect(await leftovers(me.path)).toEqual([]);
});

test("CREDENTIAL-2: a renewal that was cut off before the file was replaced is finished by the next process", async () => {
  await using me = await signedInPerson();
  await me.clock.advance(51 * MINUTE);
  const answer = JSON.parse(await (await me.server.fetch("", tokenRequest(me.first.refresh))).text());
  const tokens = { access: answer.access_token, refresh: answer.refresh_token, expires: me.clock.now() + 60 * MINUTE };
  const dies = async () => Promise.reject(new Error("killed"));
  const text = JSON.stringify(LOGIN_FILES.claude(tokens));
  await expect(new CredentialFile(me.path).replace(text, me.first.refresh, dies)).rejects.toThrow("killed");
  expect(await me.file()).toEqual(LOGIN_FILES.claude(me.first));
  expect(await leftovers(me.path)).toHaveLength(1);

  expect(await me.broker().fresh()).toMatchObject({ kind: "usable", login: { access: tokens.access } });
  expect(await me.file()).toEqual(LOGIN_FILES.claude(tokens));
  expect(await leftovers(me.path)).toEqual([]);
  expect(me.server.answers).toEqual(["renewed"]);
});

test("CREDENTIAL-2: what is left of it is dropped when it is half written, or the person has signed in since", async () => {
  await using me = await signedInPerson();
  const dies = async () => Promise.reject(new Error("killed"));
  const whole = JSON.stringify(LOGIN_FILES.claude({ ...me.first, access: "newer" }));
  for (const [text, refresh] of [
    [whole.slice(0, 40), me.first.refresh],
    [whole, "of a login before"],
  ] as const) {
    await new CredentialFile(me.path).replace(text, refresh, dies).catch(() => {});
    expect(await leftovers(me.path)).toHaveLength(1);
    expect(await me.broker().fresh()).toMatchObject({ kind: "usable", login: { access: me.first.access } });
    expect(await leftovers(me.path)).toEqual([]);
  }
});

test("a file that is half written for a moment is read again; one that stays so is reported, and never replaced", async () => {
  await using me = await signedInPerson();
  const whole = await readFile(me.path, "utf8");
  await writeFile(me.path, whole.slice(0, 50));
  const looking = me.broker().fresh();
  await me.clock.sleeping();
  await writeFile(me.path, whole);
  expect(await whileAdvancing(me.clock, looking)).toMatchObject({ kind: "usable" });

  await writeFile(me.path, whole.slice(0, 50));
  const why = `${me.path} cannot be parsed: it is damaged or half written`;
  expect(await whileAdvancing(me.clock, me.broker().fresh())).toEqual({ kind: "ended", why });
  expect(await readFile(me.path, "utf8")).toBe(whole.slice(0, 50));
  await rm(me.path);
  expect(await me.broker().fresh()).toEqual({ kind: "none" });
});

async function leftovers(path: string): Promise<string[]> {
  return (await readdir(dirname(path))).filter((name) => name.includes("agiraph-renewed"));
}

function tokenRequest(refresh_token: string): RequestInit {
  const body = JSON.stringify({ grant_type: "refresh_token", refresh_token });
  return { method: "POST", headers: { "content-type": "application/json" }, body };
}

/** With a renewal come a new id token and the time of it, where the file has them. */
function withNewIds(file: object): object {
  const id_token = expect.stringMatching(/^eyJ/);
  if ("tokens" in file && typeof file.tokens === "object")
    return { ...file, tokens: { ...file.tokens, id_token }, last_refresh: expect.stringMatching(/^2026-01-01T00:5/) };
  return "id_token" in file ? { ...file, id_token } : file;
}
