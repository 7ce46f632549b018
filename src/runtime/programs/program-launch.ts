import { randomBytes } from "node:crypto";
import { mkdir, stat, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { nearest } from "../../boundary/nearest.ts";
import type { Scrubber } from "../../boundary/scrubber.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { ProgramProfile, Usage } from "../../protocol/index.ts";
import { programBinds, type Sandbox } from "../../sandbox/index.ts";
import { CLAUDE_CODE, programsOf } from "../../workers/outside/programs.ts";
import type { ConfinedProgram, ProgramPorts, ProgramStart } from "../../workers/outside/session/program-ports.ts";
import { adapterWithoutSecrets } from "../../workers/outside/session/scrubbed-session.ts";
import type { Adapter } from "../../workers/outside/session/session.ts";
import { OUR_SERVER } from "../../workers/outside/session/session.ts";
import { withConfigProblem } from "../config/live-config.ts";
import type { Environment, Settings } from "../config/settings.ts";
import { keepLast, lastIsGone } from "./last-process.ts";
import { missingFor } from "./missing-program.ts";

interface OutsidePorts {
  sandbox(): Promise<Sandbox>;
  price(model: string, usage: Usage): Promise<number | null>;
  clock: Clock;
  scrubber: Scrubber;
}

/** Programs that think for themselves, as this machine has them. */
export function outsidePlace(settings: Settings, { price, sandbox, clock, scrubber }: OutsidePorts): ProgramPorts {
  const { env } = settings;
  return {
    list: () =>
      Object.entries(programsOf(settings.config)).map(([name, profile]) => ({
        name,
        about: profile.about ?? profile.command.join(" "),
        missing: missingFor(name, profile, env.PATH),
      })),
    program(name) {
      const programs = programsOf(settings.config);
      const profile = Object.hasOwn(programs, name) ? programs[name] : undefined;
      const problem = profile ? missingFor(name, profile, env.PATH) : unknown(name, Object.keys(programs));
      if (!profile || problem !== null) throw new Error(withConfigProblem(settings, problem ?? ""));
      return profile;
    },
    adapter: async (kind) => adapterWithoutSecrets(await adapters[kind](clock), scrubber),
    makeHome,
    start: async (stay) => start(stay, await sandbox(), env),
    // Programs name their models as their vendors do.
    price: (model, usage) => price(model.startsWith("claude") ? `anthropic/${model}` : model, usage).catch(() => null),
  };
}

/** What a catalog has to know of programs: that they can be used, and whether one is installed. */
export function programsForCatalog(settings: Pick<Settings, "config" | "env">) {
  const hasCommand = async () => {
    const claude = programsOf(settings.config)[CLAUDE_CODE];
    return claude !== undefined && missingFor(CLAUDE_CODE, claude, settings.env.PATH) === null;
  };
  return { outsideAgents: true, hasCommand };
}

/** Loaded with the first of each kind: nobody else pays for it. */
const adapters: Record<ProgramProfile["kind"], (clock: Clock) => Promise<Adapter>> = {
  claude_code: async () => (await import("../../workers/outside/claude/claude-code.ts")).claudeCodeAdapter,
  acp: async (clock) => (await import("../../workers/outside/acp/acp.ts")).acpAdapter(clock),
  autonomous: async (clock) => (await import("../../workers/outside/files/autonomous.ts")).autonomousAdapter(clock),
  mesh: () => Promise.reject(new Error("A mesh belongs to a project: only an agent that has one can hire it.")),
};

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

async function start(stay: ProgramStart, sandbox: Sandbox, env: Environment): Promise<ConfinedProgram> {
  const { profile, cwd, home, signal } = stay;
  await lastIsGone(home);
  const { mcpHandler } = await import("../../mcp/serve-toolbox.ts");
  const token = randomBytes(32).toString("base64url");
  const door = createServer(mcpHandler(stay.tools, { token, name: OUR_SERVER }));
  const [command = "", ...words] = profile.command;
  const files = await programBinds([command, ...words], env.PATH ?? "");
  const shared = (await sharedFiles(profile)).map(({ file }) => file);
  const given = namedIn(env, profile);
  const hosts = [...(profile.hosts ?? []), ...addressesIn({ ...given, ...profile.set })];
  const running = await sandbox.start({
    cwd,
    binds: {
      ...stay.binds,
      write: [...stay.binds.write, home],
      read: [...stay.binds.read, ...files.read, ...shared],
    },
    ...(hosts.length > 0 && { network: { allow: hosts } }),
    door,
    signal,
    launch(url) {
      const launched = stay.launch({ url: `${url}/mcp`, token }, sandbox.kind !== "unsafe");
      const [, ...args] = launched.argv;
      const path = { PATH: [...files.path, SYSTEM_PATH].join(delimiter), HOME: home };
      return { argv: [files.command, ...args], env: { ...path, ...given, ...profile.set, ...launched.env } };
    },
  });
  void running.ended.catch(() => {}).then(() => door.closeAllConnections());
  await keepLast(home, running.first).catch(() => {}); // then what confines it is relied on alone
  return { ...running, sandbox: sandbox.kind };
}

/**
 * Where it is signed in: links in its home to the user's own files, which it may read. Only in a home that is new: in
 * another it could have laid links of its own in the way.
 */
async function makeHome(profile: ProgramProfile, home: string): Promise<void> {
  if ((await mkdir(home, { recursive: true, mode: 0o700 })) === undefined) return;
  for (const { path, file } of await sharedFiles(profile)) {
    if (isAbsolute(path)) continue;
    await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 });
    await symlink(file, join(home, path));
  }
}

async function sharedFiles({ share = [] }: ProgramProfile): Promise<{ path: string; file: string }[]> {
  const files = share.map((path) => ({ path, file: isAbsolute(path) ? path : join(homedir(), path) }));
  const there = await Promise.all(files.map(({ file }) => stat(file).catch(() => null)));
  return files.filter((_, at) => there[at]?.isFile());
}

function namedIn(env: Environment, { env: names = [] }: ProgramProfile): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/** A program that is sent to another address may reach it. */
function addressesIn(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    if (!name.endsWith("_BASE_URL") || !URL.canParse(value)) return [];
    const { hostname, port, protocol } = new URL(value);
    return [`${hostname}:${port || (protocol === "http:" ? 80 : 443)}`];
  });
}

function unknown(name: string, names: readonly string[]): string {
  const [near] = nearest(name, names, 1);
  return `There is no program "${name}".${near ? ` Did you mean ${near}?` : ""} There are: ${names.join(", ")}; others can be added in config.json (programs).`;
}
