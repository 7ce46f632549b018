import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { agentDir } from "../../src/store/paths.ts";
import {
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
  startTeam,
  until,
} from "../../src/testing/index.ts";
import { LOGIN_FILES, signIn } from "../../src/testing/login-files.ts";
import { installed, whenInstalled } from "./installed.ts";
import { CLAUDE, ours, shell, withClaude } from "./real-claude.ts";
import { bearerOf, everythingIn, guarded, hiring, person } from "./signed-in.ts";

/* Real programs in the real sandbox, signed in by a login file, against a token server that rotates. */

const LONG = { timeout: 120_000 };
const CODEX = installed("acp", "@agentclientprotocol/codex-acp/dist/index.js");
const withCodex = whenInstalled("acp", "@agentclientprotocol/codex-acp/dist/index.js");

const claudeConfig = (url: string): Config => ({
  programs: { "claude-code": { command: [CLAUDE], set: { ANTHROPIC_BASE_URL: url } } },
});

const turns = [shell("echo hello > a.md"), ours("publish", { summary: "It says hello." })];

withClaude("Claude Code works with a login that had expired, and never sees the refresh token", LONG, async () => {
  await using me = await person();
  const { access, refresh } = me.server.login();
  const file = await signIn(me.home, "claude", { access, refresh, expires: systemClock.now() - 1000 });
  const accepted: string[] = [];
  const mind = ({ turn }: ProviderRequest) => turns[turn] ?? { text: "I am done." };
  await using provider = await startProviderServer({ respond: guarded(me.server, accepted, mind) });
  const logins = me.broker();
  const config = claudeConfig(provider.url);
  await using team = await startTeam({
    goal: "g",
    config,
    env: me.env,
    home: me.agiraph,
    logins,
    coordinator: hiring("claude-code"),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(me.server.answers).toEqual(["renewed"]);
  const renewed = JSON.parse(await readFile(file, "utf8"));
  const { accessToken, refreshToken, expiresAt } = renewed.claudeAiOauth;
  expect(renewed).toEqual(LOGIN_FILES.claude({ access: accessToken, refresh: refreshToken, expires: expiresAt }));
  expect(new Set(accepted)).toEqual(new Set([accessToken]));
  const home = join(agentDir(me.agiraph, team.agent.now.agent.id), ".programs");
  expect(existsSync(home)).toBe(true);
  const seen = await everythingIn(home);
  expect(seen).toContain(accessToken);
  expect(seen).not.toContain(refreshToken);
  expect(seen).not.toContain(refresh);
});

withClaude(
  "a login that is refused in the middle of the work is renewed, and the same session goes on",
  LONG,
  async () => {
    await using me = await person();
    // Its first token is valid by its time, and no longer accepted: the person's own program has rotated it away.
    const first = me.server.login();
    await signIn(me.home, "claude", first);
    const accepted: string[] = [];
    const mind = (request: ProviderRequest): ProviderTurn => {
      const { turn } = request;
      if (turn === 1 && bearerOf(request) === first.access)
        return { fault: { status: 401, message: "OAuth token has expired" } };
      return turns[turn] ?? ours("publish", { summary: "It says hello." });
    };
    await using provider = await startProviderServer({ respond: guarded(me.server, accepted, mind) });
    const config = claudeConfig(provider.url);
    const plan = {
      goal: "g",
      config,
      env: me.env,
      home: me.agiraph,
      logins: me.broker(),
      coordinator: hiring("claude-code"),
    };
    await using team = await startTeam(plan);
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(me.server.answers).toEqual(["renewed"]);
    expect(accepted[0]).toBe(first.access);
    expect(accepted.at(-1)).not.toBe(first.access);
    expect((await team.facts()).filter(({ type }) => type === "process.started")).toHaveLength(1);
  },
);

withClaude(
  "a login that was revoked becomes a question, and the work goes on when the person has signed in",
  LONG,
  async () => {
    await using me = await person();
    const first = me.server.login();
    me.server.revoke(first.refresh);
    await signIn(me.home, "claude", { ...first, expires: systemClock.now() - 1000 });
    const mind = ({ turn }: ProviderRequest) => turns[turn] ?? { text: "I am done." };
    await using provider = await startProviderServer({ respond: guarded(me.server, [], mind) });
    const config = claudeConfig(provider.url);
    const plan = {
      goal: "g",
      config,
      env: me.env,
      home: me.agiraph,
      logins: me.broker(),
      coordinator: hiring("claude-code"),
    };
    await using team = await startTeam(plan);
    await until(team.agent, (now) => Object.keys(now.questions.open).length > 0);
    expect(Object.values(team.agent.now.questions.open)).toMatchObject([
      {
        worker_id: "clara",
        text: "The program claude-code cannot work: its login cannot be used, because platform.claude.com refuses to renew it (invalid_grant). It was signed out, or it was renewed on another machine. Sign in again: agiraph programs login claude-code. The work then continues automatically.",
      },
    ]);
    await signIn(me.home, "claude", me.server.login());
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(
      (await team.facts()).filter(({ type }) => type === "node.failed" || type === "process.started"),
    ).toHaveLength(1);
  },
);

withCodex("Codex, which renews by itself, asks at our door and never sees the refresh token", LONG, async () => {
  await using me = await person();
  const { access, refresh } = me.server.login();
  const file = await signIn(me.home, "codex", { access, refresh, expires: 0 });
  const accepted: string[] = [];
  await using provider = await startProviderServer({
    respond: guarded(me.server, accepted, (request) => {
      const { turn } = request;
      if (bearerOf(request) === access)
        return { fault: { status: 401, body: '{"error":{"message":"expired","code":"token_expired"}}' } };
      if (turn === 0) return { calls: [{ name: "exec_command", args: { cmd: "echo hello > a.md" } }] };
      return { calls: [{ name: "mcp__agiraph/publish", args: { summary: "It says hello." } }] };
    }),
  });
  const set = { CODEX_CONFIG: JSON.stringify(codexConfig(provider.url)) };
  const config: Config = {
    programs: {
      codex: { command: [process.execPath, CODEX], permissions: "allow", set, hosts: [new URL(provider.url).host] },
    },
  };
  await using team = await startTeam({
    goal: "g",
    config,
    env: me.env,
    home: me.agiraph,
    logins: me.broker(),
    coordinator: hiring("codex"),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(me.server.answers).toEqual(["renewed"]);
  const { tokens } = JSON.parse(await readFile(file, "utf8"));
  expect([accepted[0], accepted.at(-1)]).toEqual([access, tokens.access_token]);
  const seen = await everythingIn(join(agentDir(me.agiraph, team.agent.now.agent.id), ".programs"));
  expect(seen).toContain(tokens.access_token);
  expect(seen).not.toContain(tokens.refresh_token);
  expect(seen).not.toContain(refresh);
});

/** Its login is used for the scripted provider as for OpenAI's own. */
function codexConfig(url: string) {
  const scripted = {
    ...{ name: "scripted", base_url: `${url}/v1`, wire_api: "responses", requires_openai_auth: true },
    ...{ request_max_retries: 1, stream_max_retries: 1, supports_websockets: false },
  };
  return { chatgpt_base_url: `${url}/backend-api/`, model_provider: "scripted", model_providers: { scripted } };
}
