import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { z } from "zod";
import type { ProgramProfile } from "../../protocol/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { INSTALLED_BY, programsOf } from "../../workers/outside/programs.ts";
import type { Environment } from "../live/terminal.ts";
import { plain } from "../wording/width.ts";
import type { Check } from "./checks.ts";

interface Answer {
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
  isSignedIn(answer: Answer): boolean | undefined;
  /** Variables that stand for being signed in, and that it does not speak of itself. */
  keys: readonly string[];
  signIn: string;
  costs: string;
}

/** Each is asked in its own way, and never are its files of credentials read. Gemini has no way to be asked. */
const AGENTS: readonly KnownAgent[] = [
  {
    name: "claude",
    program: "claude-code",
    question: ["auth", "status"],
    isSignedIn: ({ stdout }) => claudeStatus.safeParse(jsonIn(stdout)).data?.loggedIn,
    keys: [],
    signIn: "claude auth login",
    costs: "no claude-code models and workers",
  },
  {
    name: "codex",
    program: "codex",
    asked: "codex",
    question: ["login", "status"],
    isSignedIn: ({ code }) => code === 0,
    keys: ["OPENAI_API_KEY", "CODEX_API_KEY"],
    signIn: "codex login",
    costs: "no Codex workers",
  },
  {
    name: "gemini",
    program: "gemini",
    question: null,
    isSignedIn: () => undefined,
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    signIn: "gemini",
    costs: "no Gemini CLI workers",
  },
  {
    name: "opencode",
    program: "opencode",
    question: ["auth", "list"],
    isSignedIn: ({ code, stdout }) =>
      code === 0 ? /[1-9]\d* (credential|environment variable)/.test(stdout) : undefined,
    keys: [],
    signIn: "opencode auth login",
    costs: "no opencode workers",
  },
];

const claudeStatus = z.object({ loggedIn: z.boolean() });

/** The agents that can be hired: which are there, in which version, and whether they are signed in. */
export async function checkAgents({ env, config }: Pick<Settings, "env" | "config">, capMs: number): Promise<Check[]> {
  const programs = programsOf(config);
  const known = AGENTS.map((agent) => checkAgent(agent, programs[agent.program]?.command ?? [], env, capMs));
  const others = Object.entries(programs).filter(([name]) => !AGENTS.some(({ program }) => program === name));
  return Promise.all([...known, ...others.map(([name, profile]) => checkOther(name, profile, env, capMs))]);
}

async function checkAgent(
  agent: KnownAgent,
  command: readonly string[],
  env: Environment,
  capMs: number,
): Promise<Check> {
  const { name, costs } = agent;
  const [program = "", ...args] = command;
  const path = await pathOf(program, env);
  if (!path) {
    const detail = isAbsolute(program) ? `${program} is not there` : `${program} is not on PATH`;
    return { name, state: "missing", detail, costs: `${costs}; install it: ${INSTALLED_BY[agent.program]}` };
  }
  const asked = agent.asked === undefined ? path : await pathOf(agent.asked, env);
  // Of the arguments only a script belongs to who it is.
  const script = args.filter((word) => isAbsolute(word));
  const [version, answer] = await Promise.all([
    ask(path, [...script, "--version"], env, capMs),
    agent.question && asked ? ask(asked, agent.question, env, capMs) : undefined,
  ]);
  const about = `${versionIn(version)} (${path})`;
  const key = agent.keys.find((variable) => env[variable]?.trim());
  const isSignedIn = answer && agent.isSignedIn(answer);
  if (isSignedIn === false && !key)
    return {
      name,
      state: "missing",
      detail: `${about}, not signed in`,
      costs: `${costs}; sign in: ${agent.signIn}`,
    };
  const how = isSignedIn ? "signed in" : key ? `${key} is set` : "whether it is signed in it does not tell";
  return { name, state: "ok", detail: `${about}, ${how}` };
}

/** A program of the config's own: one that speaks as one we know is asked what that one is asked. */
async function checkOther(name: string, profile: ProgramProfile, env: Environment, capMs: number): Promise<Check> {
  const { kind, command, quirks, env: variables = [] } = profile;
  const [program = "", script = ""] = command;
  if (kind === "mesh") return { name, state: "ok", detail: `the mesh ${program}, in agents whose project declares it` };
  const costs = `nobody can be hired as ${name}; say in config.json where it is (programs.${name}.command)`;
  const path = await pathOf(program, env);
  if (!path) return { name, state: "missing", detail: `${program} was not found`, costs };
  if (isAbsolute(script) && !existsSync(script))
    return { name, state: "missing", detail: `${script} was not found`, costs };
  const unset = variables.filter((variable) => !env[variable]);
  const without = unset.length > 0 ? `; not set: ${unset.join(", ")}` : "";
  const known = AGENTS.find((agent) => agent.name === (kind === "claude_code" ? "claude" : quirks));
  if (known)
    return { ...(await checkAgent({ ...known, name, costs: `nobody works as ${name}` }, command, env, capMs)) };
  // Whatever a plain program is called with, it may begin to work.
  if (kind === "autonomous") return { name, state: "ok", detail: `${path}${without}` };
  const version = await ask(path, [...(isAbsolute(script) ? [script] : []), "--version"], env, capMs);
  return { name, state: "ok", detail: `${versionIn(version)} (${path})${without}` };
}

function versionIn(answer: Answer | undefined): string {
  return plain(answer?.stdout.trim().split("\n", 1)[0] ?? "") || "does not tell its version";
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
function ask(path: string, words: readonly string[], env: Environment, capMs: number): Promise<Answer | undefined> {
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
