import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { access, constants, statfs } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { boundedText } from "../../boundary/bounded-body.ts";
import { withoutRedirects } from "../../boundary/without-redirects.ts";
import { keyState } from "../../models/catalog/key.ts";
import { isTooOldGit } from "../../repository/index.ts";
import { scrubberFor } from "../../runtime/config/known-secrets.ts";
import type { Environment } from "../../runtime/config/settings.ts";
import { readConfig, type Settings } from "../../runtime/config/settings.ts";
import { systemClock } from "../../runtime/config/system-clock.ts";
import { openExtensions } from "../../runtime/extensions/load-extensions.ts";
import { channelsOf } from "../../runtime/human/open-channels.ts";
import { openSandbox } from "../../sandbox/index.ts";
import { homeProblems } from "../../store/home/home-modes.ts";
import { tokenIfThere } from "../../store/home/token-file.ts";
import { liveHolder } from "../home/live-holder.ts";
import { runningServer } from "../home/other-process.ts";
import { bytes } from "../wording/format.ts";
import { plain } from "../wording/width.ts";

/**
 * One thing that was checked. `missing` is fine; `costs` says what is not possible without it. `broken` must be fixed.
 */
export type DoctorCheck = { name: string } & (
  | { state: "ok"; detail: string }
  | { state: "missing" | "broken"; detail: string; costs: string }
);

export async function checkHome(home: string): Promise<DoctorCheck> {
  const name = "home";
  const there = await nearestFolder(home);
  const writable = await access(there, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!writable)
    return {
      name,
      state: "broken",
      detail: `${there} cannot be written`,
      costs: "no agent can be created; pass --home or set AGIRAPH_HOME",
    };
  if (there !== home) return { name, state: "ok", detail: `${home} (created by the first run)` };
  const holder = liveHolder(home);
  return { name, state: "ok", detail: holder ? `${home}, in use by pid ${holder.pid}` : `${home}, not in use` };
}

/** Whether other users of the machine could change files of the home that control what we run. */
export function checkModes(home: string, env: Environment): DoctorCheck[] {
  const costs = "nothing runs in this home until it is fixed";
  return homeProblems(home, env).map((detail) => ({ name: "home", state: "broken", detail, costs }));
}

const ENOUGH_DISK = 1024 ** 3;

export async function checkDisk(home: string): Promise<DoctorCheck> {
  const name = "disk";
  const { bavail, bsize } = await statfs(await nearestFolder(home));
  const free = bavail * bsize;
  if (free >= ENOUGH_DISK) return { name, state: "ok", detail: `${bytes(free)} free` };
  return {
    name,
    state: "broken",
    detail: `only ${bytes(free)} free`,
    costs: "agents stop when the disk is full; nothing recorded is lost",
  };
}

const MODEL_KEYS = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"];
const SEARCH_KEYS = ["BRAVE_API_KEY", "SERPER_API_KEY", "TAVILY_API_KEY", "SEARXNG_URL"];

/** Names only: a key is never shown, not even in part. */
export function checkKeys(env: Environment): DoctorCheck[] {
  const rows = [
    {
      name: "model keys",
      keys: MODEL_KEYS,
      costs: "only local models, programs such as claude-code, and the demo can be used",
    },
    { name: "search keys", keys: SEARCH_KEYS, costs: "no web_search, except with models that search by themselves" },
  ];
  return rows.flatMap(({ name, keys, costs }): DoctorCheck[] => {
    const having = (state: ReturnType<typeof keyState>) => keys.filter((key) => keyState(env[key]) === state);
    const [set, malformed] = [having("set"), having("malformed")];
    const found: DoctorCheck[] = set.length > 0 ? [{ name, state: "ok", detail: set.join(", ") }] : [];
    if (malformed.length > 0)
      found.push({
        name,
        state: "broken",
        detail: `malformed: ${malformed.join(", ")} (empty, or with a space, a line break or a non-ASCII letter)`,
        costs: "requests that need one fail until it is set again",
      });
    return found.length > 0 ? found : [{ name, state: "missing", detail: `none of ${keys.join(", ")}`, costs }];
  });
}

/** Lines of .env files that do not set what they seem to. */
export function checkEnvFiles({ envProblems = [] }: Pick<Settings, "envProblems">): DoctorCheck[] {
  const costs = "the variable of that line may be missing or wrong; the other lines are used";
  return envProblems.map((detail) => ({ name: ".env", state: "broken", detail, costs }));
}

/** Whether config.json is valid, and whether a running server uses it. */
export async function checkConfig(settings: Settings): Promise<DoctorCheck[]> {
  const name = "config.json";
  const path = join(settings.home, name);
  const problem = await readConfig(path).then(
    () => null,
    (error: Error) => error.message,
  );
  const holder = liveHolder(settings.home);
  if (problem !== null) {
    const costs = holder
      ? `pid ${holder.pid} still uses the last valid one; nothing else starts until it is fixed`
      : "nothing runs until it is fixed";
    return [{ name, state: "broken", detail: problem, costs }];
  }
  // Where it cannot be reached, the check of the token says why.
  const server = await runningServer(settings).catch(() => undefined);
  const { after_restart: waiting = [] } = (await server?.config().catch(() => undefined)) ?? {};
  if (waiting.length === 0) return existsSync(path) ? [{ name, state: "ok", detail: path }] : [];
  const detail = `${waiting.join(", ")} changed since the server (pid ${holder?.pid}) was started; it needs a restart`;
  return [{ name, state: "missing", detail, costs: "the old values stay in use" }];
}

/** Without its token, no command reaches the process that works in the home. */
export function checkToken(home: string): DoctorCheck[] {
  const holder = liveHolder(home);
  const problem = holder?.url === undefined ? undefined : problemWithToken(home);
  if (problem === undefined) return [];
  const costs = `no command reaches pid ${holder?.pid}, which works in this home. End it and start it again: it makes a new token`;
  return [{ name: "token", state: "broken", detail: problem, costs }];
}

function problemWithToken(home: string): string | undefined {
  try {
    return tokenIfThere(home) === undefined ? `${join(home, "token")} is missing` : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Nothing is posted: that would disturb people. */
export function checkChannels(settings: Settings): DoctorCheck[] {
  const name = "channels";
  try {
    const channels = channelsOf(settings, Date.now).map((channel) => `${channel.name} (${channel.to.join(", ")})`);
    return channels.length === 0 ? [] : [{ name, state: "ok", detail: channels.join(", ") }];
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return [{ name, state: "broken", detail, costs: "nothing runs until it is fixed" }];
  }
}

/** Loads each extension, as a working process would. */
export async function checkExtensions(settings: Settings): Promise<DoctorCheck[]> {
  await using extensions = await openExtensions(settings, systemClock);
  const scrubber = scrubberFor(settings);
  return extensions.states.map((each): DoctorCheck => {
    const name = "extension";
    if (each.state === "broken") {
      const detail = plain(scrubber.text(`${each.file}: ${each.problem}`));
      return { name, state: "broken", detail, costs: "its additions are missing; the rest works" };
    }
    const kinds = (["tools", "providers", "channels"] as const).filter((kind) => each[kind].length > 0);
    const adds = kinds.map((kind) => `${kind} ${each[kind].join(", ")}`).join("; ");
    return { name, state: "ok", detail: plain(`${each.file}: ${adds || "adds nothing"}`) };
  });
}

/** Opens each server and asks for its tools, as a worker would. */
export async function checkMcpServers(settings: Settings): Promise<DoctorCheck[]> {
  const { env, config } = settings;
  if (!config.mcp_servers) return [];
  const scrubber = scrubberFor(settings);
  const { McpServers } = await import("../../mcp/mcp-servers.ts");
  const servers = new McpServers(config.mcp_servers, { env, now: Date.now });
  try {
    return (await servers.states()).map(({ name: server, state }): DoctorCheck => {
      const name = `mcp ${server}`;
      if (state.is === "up")
        return { name, state: "ok", detail: plain(scrubber.text(`${state.tools} tools (${state.about})`)) };
      const detail = state.is === "down" ? plain(scrubber.text(state.why)) : "it does not answer";
      return { name, state: "broken", detail, costs: `no tools called mcp__${server}__…; the rest works` };
    });
  } finally {
    await servers.close();
  }
}

const MOST_LISTED_BYTES = 4 * 1024 ** 2;
const OLLAMA = "http://127.0.0.1:11434";

export async function checkOllama(env: Environment, capMs: number): Promise<DoctorCheck> {
  const name = "ollama";
  const base = (env.OLLAMA_BASE_URL ?? OLLAMA).replace(/\/(v1\/?)?$/, "");
  try {
    const ask = withoutRedirects(fetch, "OLLAMA_BASE_URL");
    const answer = await ask(`${base}/api/tags`, { signal: AbortSignal.timeout(capMs) });
    const body: unknown = JSON.parse(await boundedText(answer, MOST_LISTED_BYTES));
    const models =
      typeof body === "object" && body !== null && "models" in body && Array.isArray(body.models)
        ? body.models.length
        : 0;
    return { name, state: "ok", detail: `${base}, ${models} models` };
  } catch {
    return { name, state: "missing", detail: `nothing answers at ${base}`, costs: "no local models (ollama/…)" };
  }
}

export async function checkTmux(env: Environment, capMs: number): Promise<DoctorCheck> {
  const name = "tmux";
  const path = await onPath(name, env);
  if (!path) return { name, state: "missing", detail: "not on PATH", costs: "no meshes of terminal agents" };
  return { name, state: "ok", detail: `${await versionSaidBy(path, "-V", env, capMs)} (${path})` };
}

export async function checkGit(env: Environment, capMs: number): Promise<DoctorCheck> {
  const name = "git";
  const costs = "no teams that change your repository (--write)";
  const path = await onPath(name, env);
  if (!path) return { name, state: "missing", detail: "not on PATH", costs };
  const version = await versionSaidBy(path, "--version", env, capMs);
  if (isTooOldGit(version))
    return { name, state: "missing", detail: `${version} (${path}); 2.38 or newer is needed`, costs };
  return { name, state: "ok", detail: `${version} (${path})` };
}

export async function checkSandbox(unsafe: boolean): Promise<DoctorCheck> {
  const name = "sandbox";
  const sandbox = await openSandbox({ unsafe });
  const test = await sandbox.selfTest();
  if (sandbox.kind !== "unsafe" && test.ok) return { name, state: "ok", detail: test.detail };
  const detail = sandbox.kind === "unsafe" ? "switched off by config.json" : test.ok ? sandbox.about : test.reason;
  const costs = sandbox.kind === "unsafe" ? "commands run with all your rights" : "the bash tool is refused";
  return { name, state: "missing", detail: plain(detail), costs };
}

async function nearestFolder(path: string): Promise<string> {
  const there = await access(path).then(
    () => true,
    () => false,
  );
  return there || dirname(path) === path ? path : nearestFolder(dirname(path));
}

async function onPath(name: string, env: Environment): Promise<string | undefined> {
  for (const folder of (env.PATH ?? "").split(delimiter).filter(Boolean)) {
    const path = join(folder, name);
    const runs = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return path;
  }
  return undefined;
}

function versionSaidBy(path: string, flag: string, env: Environment, capMs: number): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(
      path,
      [flag],
      { env, timeout: capMs, killSignal: "SIGKILL", maxBuffer: 64 * 1024 },
      (error, stdout) => {
        const first = plain(stdout.split("\n", 1)[0] ?? "");
        resolve(error || first === "" ? "does not report its version" : first);
      },
    );
    // A program that would rather ask something must not wait for an answer.
    child.stdin?.end();
  });
}
