import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { text } from "node:stream/consumers";
import { nearest } from "../../boundary/nearest.ts";
import type { Scrubber } from "../../boundary/scrubber.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { ProgramProfile, Usage } from "../../protocol/index.ts";
import { programFiles, type Sandbox } from "../../sandbox/index.ts";
import type { Launched, RunningProgram } from "../../sandbox/program.ts";
import { canLead, programsOf } from "../../workers/outside/programs.ts";
import type { ConfinedProgram, ProgramPorts, ProgramStart } from "../../workers/outside/session/program-ports.ts";
import { adapterWithoutSecrets } from "../../workers/outside/session/scrubbed-session.ts";
import type { Adapter } from "../../workers/outside/session/session.ts";
import { OUR_SERVER } from "../../workers/outside/session/session.ts";
import { pricedModel } from "../../workers/outside/vendor-model.ts";
import { withConfigProblem } from "../config/live-config.ts";
import type { Environment, Settings } from "../config/settings.ts";
import type { LoginBroker } from "../logins/login-broker.ts";
import { loginFormatOf } from "../logins/login-formats.ts";
import { gitIdentity, identityVariables } from "./git-identity.ts";
import { keepLast, lastIsGone } from "./last-process.ts";
import { LoginLoan, programLogin } from "./login-loan.ts";
import { missingFor } from "./missing-program.ts";
import { copyOwnSettings } from "./own-settings.ts";
import { copySkills } from "./project-skills.ts";
import { withAddresses } from "./vendor-addresses.ts";

interface OutsidePorts {
  logins: LoginBroker;
  sandbox(): Promise<Sandbox>;
  price(model: string, usage: Usage): Promise<number | null>;
  clock: Clock;
  scrubber: Scrubber;
}

/** The outside programs of this machine. */
export function programPorts(
  settings: Settings,
  { price, sandbox, clock, scrubber, logins }: OutsidePorts,
): ProgramPorts {
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
    kindOf(name) {
      const programs = programsOf(settings.config);
      return Object.hasOwn(programs, name) ? programs[name]?.kind : undefined;
    },
    adapter: async (kind) => adapterWithoutSecrets(await adapters[kind](clock), scrubber),
    async makeHome(profile, home, rights = "confined", project = null) {
      await makeHome(profile, home, rights, env);
      if (rights === "confined") await copyOwnSettings(profile, home, env);
      if (project !== null) await copySkills(project, home, profile);
    },
    start: async (stay) => start(stay, await sandbox(), settings, logins),
    login: (name, profile, home) => programLogin(name, profile, home, env, logins),
    price: (model, usage) => price(pricedModel(model), usage).catch(() => null),
  };
}

/** What a catalog has to know of programs: their names, and which are not installed. */
export function programsForCatalog({ config, env }: Pick<Settings, "config" | "env">) {
  const programs = () =>
    Object.entries(programsOf(config)).map(([name, profile]) => ({
      name,
      // Looked for in every folder of PATH, so only where it matters: each hiring asks for the names.
      get missing() {
        return missingFor(name, profile, env.PATH) === null ? null : (profile.command[0] ?? name);
      },
      leads: canLead(profile.kind),
    }));
  return { programs };
}

/** Loaded with the first of each kind: nobody else pays for it. */
const adapters: Record<ProgramProfile["kind"], (clock: Clock) => Promise<Adapter>> = {
  claude_code: async (clock) => (await import("../../workers/outside/claude/claude-code.ts")).claudeCodeAdapter(clock),
  acp: async (clock) => (await import("../../workers/outside/acp/acp.ts")).acpAdapter(clock),
  autonomous: async (clock) => (await import("../../workers/outside/files/autonomous.ts")).autonomousAdapter(clock),
  mesh: () => Promise.reject(new Error("A mesh belongs to a project: only an agent that has one can hire it.")),
};

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

async function start(
  stay: ProgramStart,
  sandbox: Sandbox,
  { env, config }: Settings,
  logins: LoginBroker,
): Promise<ConfinedProgram> {
  const { home } = stay;
  const hosts = config.network?.allow ?? [];
  await lastIsGone(home);
  const { mcpHandler } = await import("../../mcp/serve-toolbox.ts");
  const token = randomBytes(32).toString("base64url");
  const handler = mcpHandler(stay.tools, { token, name: OUR_SERVER });
  const launch = (url: string | null) => stay.launch({ url: `${url}/mcp`, token }, sandbox.kind !== "unsafe");
  const running = await startConfined({ ...stay, handler, hosts, launch }, sandbox, env, logins);
  await keepLast(home, running.first).catch(() => {}); // then what confines it is relied on alone
  return { ...running, sandbox: sandbox.kind };
}

interface ConfinedStart extends Omit<ProgramStart, "tools" | "launch"> {
  /** What it finds at its door beside its login. */
  handler?: RequestListener;
  /** Those that every command may reach, beside the program's own. */
  hosts?: readonly string[];
  launch(door: string | null): Launched | Promise<Launched>;
}

/** What is around every program: its binds, its login, its hosts, and of our environment what its profile names. */
async function startConfined(
  { profile, cwd, home, signal, binds, handler, hosts: allowed = [], launch }: ConfinedStart,
  sandbox: Sandbox,
  env: Environment,
  logins: LoginBroker,
): Promise<RunningProgram> {
  const loan = new LoginLoan(logins, profile, home, env);
  const door = createServer((request, response) => {
    if (loan.answers(request, response)) return;
    if (handler) handler(request, response);
    else response.writeHead(404).end();
  });
  const [command = "", ...words] = profile.command;
  const files = await programFiles([command, ...words], env.PATH ?? "");
  const shared = (await sharedFiles(profile, env)).map(({ file }) => file);
  const given = { ...namedIn(env, profile), ...(await identityVariables(profile, env)) };
  const hosts = [...(profile.hosts ?? []), ...allowed, ...addressesIn({ ...given, ...profile.set })];
  try {
    const running = await sandbox.start({
      cwd,
      binds: { ...binds, write: [...binds.write, home], read: [...binds.read, ...files.read, ...shared] },
      ...(hosts.length > 0 && { network: { allow: hosts } }),
      door,
      signal,
      async launch(url) {
        const signedIn = await loan.begin(url);
        const launched = await launch(url);
        const [, ...args] = launched.argv;
        const path = { PATH: [...files.path, SYSTEM_PATH].join(delimiter), HOME: home };
        const variables = { ...path, ...given, ...profile.set, ...signedIn, ...launched.env };
        return { argv: [files.command, ...args], env: withAddresses(profile, variables) };
      },
    });
    const over = () => {
      loan.end();
      door.closeAllConnections();
    };
    void running.ended.then(over, over);
    return running;
  } catch (error) {
    loan.end();
    throw error;
  }
}

/**
 * A program's answer to these words, in the same environment, sandbox, hosts and login as a worker's program. Undefined
 * if it cannot be run, or takes too long.
 */
export async function askAsWorker(
  profile: ProgramProfile,
  words: readonly string[],
  { sandbox, env, logins, capMs }: { sandbox: Sandbox; env: Environment; logins: LoginBroker; capMs: number },
): Promise<{ code: number; stdout: string } | undefined> {
  const home = await mkdtemp(join(tmpdir(), "agiraph-ask-"));
  try {
    const signal = AbortSignal.timeout(capMs);
    const binds = { write: [], read: [], hide: [] };
    const launch = (): Launched => ({ argv: [profile.command[0] ?? "", ...words], env: profile.set ?? {} });
    const running = await startConfined({ profile, cwd: home, home, signal, binds, launch }, sandbox, env, logins);
    running.stdin.end();
    const [stdout, , { code }] = await Promise.all([text(running.stdout), text(running.stderr), running.ended]);
    return code === null ? undefined : { code, stdout };
  } catch {
    return undefined;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/**
 * Links in its home to the user's own files, which it may read. Only in a home that is new: in another it could have
 * laid links of its own in the way. A login is among them only for a program that has the user's rights, in a terminal,
 * and may go on without us; others get a copy (`runtime/logins`).
 */
async function makeHome(
  profile: ProgramProfile,
  home: string,
  rights: "confined" | "the user's",
  env: Environment,
): Promise<void> {
  if ((await mkdir(home, { recursive: true, mode: 0o700 })) === undefined) return;
  const identity = await gitIdentity(env);
  if (identity !== null) await writeFile(join(home, ".gitconfig"), identity, { mode: 0o600 });
  for (const { path, file } of await sharedFiles(profile, env, rights)) {
    if (isAbsolute(path)) continue;
    await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 });
    await symlink(file, join(home, path));
    const lock = loginFormatOf(path)?.lockFile;
    if (lock !== undefined) await symlink(join(dirname(file), lock), join(dirname(join(home, path)), lock));
  }
}

async function sharedFiles(
  { share = [] }: ProgramProfile,
  env: Environment,
  rights: "confined" | "the user's" = "confined",
): Promise<{ path: string; file: string }[]> {
  const own = env.HOME || homedir();
  const files = share.flatMap((path) => {
    if (isAbsolute(path)) return { path, file: path };
    const format = loginFormatOf(path);
    if (format) return rights === "confined" ? [] : { path, file: format.file(env, own) };
    return { path, file: join(own, path) };
  });
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
  return `There is no program "${name}".${near ? ` Did you mean ${near}?` : ""} Choose from: ${names.join(", ")}; others can be added in config.json (programs).`;
}
