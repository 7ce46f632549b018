import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { z } from "zod";
import type { ProgramProfile } from "../../protocol/index.ts";
import type { Environment, Settings } from "../../runtime/config/settings.ts";
import { systemClock } from "../../runtime/config/system-clock.ts";
import { LoginBroker } from "../../runtime/logins/login-broker.ts";
import { loginStatus } from "../../runtime/logins/login-status.ts";
import { askAsWorker } from "../../runtime/programs/program-launch.ts";
import { openSandbox, type Sandbox } from "../../sandbox/index.ts";
import { INSTALLED_BY, programsOf } from "../../workers/outside/programs.ts";
import { loginInWords } from "../wording/login.ts";
import { plain } from "../wording/width.ts";
import type { DoctorCheck } from "./checks.ts";

interface CommandAnswer {
  code: number;
  stdout: string;
}

interface KnownAgent {
  name: string;
  /** The profile by which it is hired. */
  program: string;
  /** Who is asked whether it is signed in, where that is another command than the one that works. */
  asked?: string;
  question: readonly string[] | null;
  isSignedIn(answer: CommandAnswer): boolean | undefined;
  /** Variables that stand for being signed in, and that it does not speak of itself. */
  keys: readonly string[];
  costs: string;
}

/** Each program is asked for its login in its own way, in the environment of a worker. Gemini cannot be asked. */
const AGENTS: readonly KnownAgent[] = [
  {
    name: "claude",
    program: "claude-code",
    question: ["auth", "status"],
    isSignedIn: ({ stdout }) => claudeStatus.safeParse(jsonIn(stdout)).data?.loggedIn,
    keys: [],
    costs: "no claude-code models and workers",
  },
  {
    name: "codex",
    program: "codex",
    asked: "codex",
    question: ["login", "status"],
    isSignedIn: ({ code }) => code === 0,
    keys: ["OPENAI_API_KEY", "CODEX_API_KEY"],
    costs: "no Codex workers",
  },
  {
    name: "gemini",
    program: "gemini",
    question: null,
    isSignedIn: () => undefined,
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    costs: "no Gemini CLI workers",
  },
  {
    name: "opencode",
    program: "opencode",
    question: ["auth", "list"],
    isSignedIn: ({ code, stdout }) =>
      code === 0 ? /[1-9]\d* (credential|environment variable)/.test(stdout) : undefined,
    keys: [],
    costs: "no opencode workers",
  },
];

const claudeStatus = z.object({ loggedIn: z.boolean() });

/** Checks the programs that can be hired: which are installed, in which version, and whether they are signed in. */
export async function checkAgents({ home, env, config }: Settings, capMs: number): Promise<DoctorCheck[]> {
  const programs = programsOf(config);
  const sandbox = await openSandbox({ unsafe: config.sandbox?.unsafe ?? false });
  const logins = new LoginBroker({ home, env, clock: systemClock, fetch });
  const ports: CheckPorts = { home, env, capMs, sandbox, logins };
  const known = AGENTS.flatMap((agent) => {
    const profile = programs[agent.program];
    return profile ? [checkAgent(agent, profile, ports)] : [];
  });
  const others = Object.entries(programs).filter(([name]) => !AGENTS.some(({ program }) => program === name));
  return Promise.all([...known, ...others.map(([name, profile]) => checkOther(name, profile, ports))]);
}

interface CheckPorts {
  home: string;
  env: Environment;
  capMs: number;
  sandbox: Sandbox;
  logins: LoginBroker;
}

async function checkAgent(agent: KnownAgent, profile: ProgramProfile, ports: CheckPorts): Promise<DoctorCheck> {
  const { name, costs } = agent;
  const { env, home, logins } = ports;
  const [program = ""] = profile.command;
  const path = await pathOf(program, env);
  if (!path) {
    const detail = isAbsolute(program) ? `${program} does not exist` : `${program} is not on PATH`;
    return { name, state: "missing", detail, costs: `${costs}; install it: ${INSTALLED_BY[agent.program]}` };
  }
  const [version, isSignedIn, login] = await Promise.all([
    programVersion(profile, env, ports.capMs),
    askSignedIn(agent, profile, ports),
    loginStatus(profile, logins, { home, env }),
  ]);
  const about = `${version ?? "does not report its version"} (${path})`;
  const key = agent.keys.find((variable) => env[variable]?.trim());
  const isEnded = login.how === "login" && !login.usable;
  if ((isSignedIn === false || isEnded) && !key) {
    const why = isEnded || login.problem !== null ? loginInWords(login, systemClock.now()) : "not signed in";
    const signIn = `sign in: agiraph programs login ${agent.program}`;
    return { name, state: "missing", detail: `${about}, ${why}`, costs: `${costs}; ${signIn}` };
  }
  if (login.how === "login")
    return { name, state: "ok", detail: `${about}, ${loginInWords(login, systemClock.now())}` };
  const how = isSignedIn ? "signed in" : key ? `${key} is set` : "it does not say whether it is signed in";
  return { name, state: "ok", detail: `${about}, ${how}` };
}

/** As a worker's program, where there is a sandbox: what it can do in a terminal says nothing about a worker. */
async function askSignedIn(
  agent: KnownAgent,
  profile: ProgramProfile,
  ports: CheckPorts,
): Promise<boolean | undefined> {
  const { env, sandbox, capMs } = ports;
  const { question } = agent;
  const asked = await pathOf(agent.asked ?? profile.command[0] ?? "", env);
  if (!question || !asked) return undefined;
  const answer =
    sandbox.kind === "none"
      ? await ask(asked, question, env, capMs)
      : await askAsWorker({ ...profile, command: [asked] }, question, ports);
  return answer && agent.isSignedIn(answer);
}

/** The version that the program reports; null if it reports none. */
export async function programVersion(
  { kind, command: [program = "", ...args] }: ProgramProfile,
  env: Environment,
  capMs: number,
): Promise<string | null> {
  // Whatever a plain program is called with, it may begin to work.
  const path = kind === "autonomous" ? undefined : await pathOf(program, env);
  // Of the arguments only a script belongs to who it is.
  const script = args.filter((word) => isAbsolute(word));
  const answer = path === undefined ? undefined : await ask(path, [...script, "--version"], env, capMs);
  return plain(answer?.stdout.trim().split("\n", 1)[0] ?? "") || null;
}

/** A program of the config's own: one that speaks as one we know is asked what that one is asked. */
async function checkOther(name: string, profile: ProgramProfile, ports: CheckPorts): Promise<DoctorCheck> {
  const { env, capMs } = ports;
  const { kind, command, quirks, env: variables = [] } = profile;
  const [program = "", script = ""] = command;
  if (kind === "mesh") return { name, state: "ok", detail: `the mesh ${program}, in agents whose project declares it` };
  const costs = `no ${name} workers; set programs.${name}.command in config.json`;
  const path = await pathOf(program, env);
  if (!path) return { name, state: "missing", detail: `${program} was not found`, costs };
  if (isAbsolute(script) && !existsSync(script))
    return { name, state: "missing", detail: `${script} was not found`, costs };
  const unset = variables.filter((variable) => !env[variable]);
  const without = unset.length > 0 ? `; not set: ${unset.join(", ")}` : "";
  const known = AGENTS.find((agent) => agent.name === (kind === "claude_code" ? "claude" : quirks));
  if (known) return checkAgent({ ...known, name, program: name, costs: `no ${name} workers` }, profile, ports);
  // Whatever a plain program is called with, it may begin to work.
  if (kind === "autonomous") return { name, state: "ok", detail: `${path}${without}` };
  const version = (await programVersion(profile, env, capMs)) ?? "does not report its version";
  return { name, state: "ok", detail: `${version} (${path})${without}` };
}

async function pathOf(program: string, env: Environment): Promise<string | undefined> {
  const folders = (env.PATH ?? "").split(delimiter).filter(Boolean);
  const places = isAbsolute(program) ? [program] : folders.map((folder) => join(folder, program));
  for (const path of places) {
    const runs = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return path;
  }
  return undefined;
}

/** Undefined when it cannot be run, or takes too long. */
function ask(
  path: string,
  words: readonly string[],
  env: Environment,
  capMs: number,
): Promise<CommandAnswer | undefined> {
  return new Promise((resolve) => {
    const limits = { env, timeout: capMs, killSignal: "SIGKILL", maxBuffer: 64 * 1024 } as const;
    const child = execFile(path, words, limits, (error, stdout) => {
      const code = error === null ? 0 : error.code;
      resolve(typeof code === "number" && !error?.killed ? { code, stdout } : undefined);
    });
    // A program that would rather ask something must not wait for an answer.
    child.stdin?.end();
  });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
