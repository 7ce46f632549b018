import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import { systemClock } from "../../src/runtime/config/system-clock.ts";
import { agentDir } from "../../src/store/paths.ts";
import { type ProviderRequest, type ProviderTurn, startProviderServer, startTeam } from "../../src/testing/index.ts";
import { signIn } from "../../src/testing/login-files.ts";
import { KNOWN_PROGRAMS } from "../../src/workers/outside/programs.ts";
import { installed, whenInstalled } from "./installed.ts";
import { ourStep, shellStep } from "./real-acp.ts";
import { bearerOf, everythingIn, guarded, hiring, person } from "./signed-in.ts";
import { startChatGpt, startCodeAssist } from "./vendor-fronts.ts";

/*
 * The real Gemini CLI and opencode in the real sandbox, signed in by a login file, against their vendors' own addresses.
 * A token that is valid by its time is refused in the middle of the work; none of the node's tries is lost by that. For
 * Claude Code and Codex: logins.test.ts.
 */

const LONG = { timeout: 240_000 };
const hostOf = (url: string) => new URL(url).host;
type Person = Awaited<ReturnType<typeof person>>;

/** The work of its model, and this token is refused once it has begun. */
function mind(name: "gemini" | "opencode", command: string, refused: string) {
  const turns = [shellStep(name, command), ourStep(name, "publish", { summary: "It says hello." })];
  return (request: ProviderRequest): ProviderTurn => {
    const { body, tools, messages } = request;
    const isAside = tools.length === 0 || !JSON.stringify(body).includes("Write hello to a.md.");
    // Gemini CLI asks which model it is to ask, opencode for a title.
    if (isAside) return { text: '{"reasoning":"Simple.","model_choice":"flash"}' };
    const made = messages.flatMap((each) => (each.role === "assistant" ? each.calls : [])).length;
    if (made === 1 && bearerOf(request) === refused)
      return { fault: { status: 401, message: "OAuth token has expired" } };
    return turns[made] ?? { text: "Done." };
  };
}

/** What it has on disk in the end; `meanwhile` is while its command runs. */
async function works(
  name: "gemini" | "opencode",
  me: Person,
  config: Config,
  { model, meanwhile }: { model?: string; meanwhile?(scratch: string): Promise<void> } = {},
): Promise<string> {
  await using team = await startTeam({
    ...{ goal: "g", config, env: me.env, home: me.agiraph, logins: me.broker() },
    coordinator: hiring(name, model),
  });
  const began = Promise.withResolvers<void>();
  team.agent.log.subscribe(({ type, data }) => {
    if (type === "tool.called" && data.worker_id === "clara") began.resolve();
  });
  if (meanwhile) await began.promise.then(() => meanwhile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/scratch")));
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const lost = ["node.retried", "model.failed"];
  expect((await team.facts()).map(({ type }) => type).filter((type) => lost.includes(type))).toEqual([]);
  return everythingIn(join(agentDir(me.agiraph, team.agent.now.agent.id), ".programs"));
}

const WRITES = "echo hello > a.md";

const withGemini = whenInstalled("gemini", "@google/gemini-cli/bundle/gemini.js");

withGemini(
  "Gemini CLI, which keeps a refused token in its memory, goes on with another, and never sees the refresh token",
  LONG,
  async () => {
    await using me = await person();
    const first = me.server.login();
    const file = await signIn(me.home, "gemini", { ...first, expires: systemClock.now() + 3_600_000 });
    await using vendor = await google(me, mind("gemini", WRITES, first.access));
    const seen = await works("gemini", me, vendor.config);
    expect(me.server.answers).toEqual(["renewed"]);
    expect(vendor.asked).toContain("loadCodeAssist");
    const { access_token, refresh_token } = JSON.parse(await readFile(file, "utf8"));
    expect([vendor.accepted[0], vendor.accepted.at(-1)]).toEqual([first.access, access_token]);
    for (const token of [first.refresh, refresh_token]) expect(seen).not.toContain(token);
  },
);

withGemini("Gemini CLI asks at our door for another token before its own ends", LONG, async () => {
  await using me = await person();
  const first = me.server.login();
  const file = await signIn(me.home, "gemini", { ...first, expires: systemClock.now() + 280_000 });
  // It cannot be renewed before the program works, only while it does.
  me.server.next.push(...Array.from({ length: 20 }, () => 500));
  const waits = `until [ -e go ]; do sleep 0.05; done; rm go; ${WRITES}`;
  await using vendor = await google(me, mind("gemini", waits, first.access));
  const seen = await works("gemini", me, vendor.config, {
    async meanwhile(scratch) {
      me.server.next.length = 0;
      await expect.poll(() => me.server.answers.at(-1), { timeout: 180_000 }).toBe("renewed");
      await expect.poll(() => readFile(file, "utf8")).not.toContain(first.access);
      await writeFile(join(scratch, "go"), "");
    },
  });
  const { access_token, refresh_token } = JSON.parse(await readFile(file, "utf8"));
  expect([vendor.accepted[0], vendor.accepted.at(-1)]).toEqual([first.access, access_token]);
  for (const token of [first.refresh, refresh_token]) expect(seen).not.toContain(token);
});

/** Google, with this mind behind it, and how Gemini CLI is led there. */
async function google(me: Person, respond: (request: ProviderRequest) => ProviderTurn) {
  const accepted: string[] = [];
  const provider = await startProviderServer({ respond: guarded(me.server, accepted, respond) });
  const front = await startCodeAssist(provider.url, me.server.accepts);
  const command = [process.execPath, installed("gemini", "@google/gemini-cli/bundle/gemini.js"), "--acp"];
  const set = { CODE_ASSIST_ENDPOINT: front.url };
  return {
    ...{ accepted, asked: front.asked },
    config: { programs: { gemini: { command, set, hosts: [hostOf(front.url)] } } } satisfies Config,
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

whenInstalled("opencode", ".bin/opencode")(
  "opencode, signed in with ChatGPT, takes a new token from its file, and never sees the refresh token",
  LONG,
  async () => {
    await using me = await person();
    const first = me.server.login();
    const file = await signIn(me.home, "opencode", { ...first, expires: systemClock.now() + 3_600_000 });
    const accepted: string[] = [];
    await using provider = await startProviderServer({
      respond: guarded(me.server, accepted, mind("opencode", WRITES, first.access)),
    });
    await using chatgpt = await startChatGpt(provider.url);
    const byProxy = `export HTTPS_PROXY=${chatgpt.url} https_proxy=${chatgpt.url}; exec "$@"`;
    const command = ["bash", "-c", byProxy, "opencode", installed("opencode", ".bin/opencode"), "acp"];
    const set = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    const programs = { opencode: { command, set, hosts: [hostOf(chatgpt.url)] } };
    const seen = await works("opencode", me, { programs }, { model: "openai/gpt-5.5" });
    expect(me.server.answers).toEqual(["renewed"]);
    // Without that proxy it reaches this by its profile; what else it asked for (a registry) it does without.
    expect(chatgpt.asked).toContain("chatgpt.com:443");
    expect(KNOWN_PROGRAMS.opencode?.hosts).toContain("chatgpt.com");
    const { openai } = JSON.parse(await readFile(file, "utf8"));
    expect([accepted[0], accepted.at(-1)]).toEqual([first.access, openai.access]);
    for (const token of [first.refresh, openai.refresh]) expect(seen).not.toContain(token);
  },
);
