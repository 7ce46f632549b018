import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { Environment } from "../runtime/settings.ts";
import type { Check } from "./doctor-checks.ts";
import { plain } from "./width.ts";

interface Known {
  name: string;
  /** What has to be there to have it as a worker, where that is another program. */
  needs?: string;
  version: string;
  /** Asks it whether it is signed in. One that cannot be asked is not: its credentials are its own. */
  signedIn?: { words: string[]; isYes(said: Said): boolean };
  costs: string;
}

const PROGRAMS: readonly Known[] = [
  {
    name: "claude",
    version: "--version",
    signedIn: { words: ["auth", "status"], isYes: ({ ok }) => ok },
    costs: "no claude-code models and workers",
  },
  {
    name: "codex",
    needs: "codex-acp",
    version: "--version",
    signedIn: { words: ["login", "status"], isYes: ({ ok }) => ok },
    costs: "no Codex workers",
  },
  { name: "gemini", version: "--version", costs: "no Gemini CLI workers" },
  {
    name: "opencode",
    version: "--version",
    // It ends well either way.
    signedIn: {
      words: ["auth", "list"],
      isYes: ({ stdout }) => /\b[1-9]\d* (credential|environment variable)/.test(stdout),
    },
    costs: "no opencode workers",
  },
  { name: "tmux", version: "-V", costs: "no meshes of terminal agents" },
];

/** Which programs are there, their versions, and whether they say that they are signed in. */
export function checkPrograms(env: Environment, capMs: number): Promise<Check[]> {
  return Promise.all(PROGRAMS.map((program) => checkProgram(program, env, capMs)));
}

async function checkProgram({ name, needs, version, signedIn, costs }: Known, env: Environment, capMs: number) {
  const [itself, needed] = await Promise.all([onPath(name, env), onPath(needs ?? name, env)]);
  if (!needed) {
    const detail = itself && needs ? `${itself} is there, ${needs} is not on PATH` : "not on PATH";
    return { name, state: "missing", detail, costs } as const;
  }
  const [said, asked] = await Promise.all([
    heard(needed, [version], env, capMs),
    signedIn && itself ? heard(itself, signedIn.words, env, capMs) : undefined,
  ]);
  const first = plain(said.stdout.split("\n", 1)[0] ?? "");
  const told = said.ok && first !== "" ? first : "does not tell its version";
  const sign = signedIn && asked ? `, ${signWords(signedIn.isYes(asked), asked)}` : "";
  return { name, state: "ok", detail: `${told} (${needed})${sign}` } as const;
}

function signWords(isYes: boolean, { isLate }: Said): string {
  if (isLate) return "does not say whether it is signed in";
  return isYes ? "signed in" : "says that it is not signed in";
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

interface Said {
  ok: boolean;
  /** It was ended before it had answered. */
  isLate: boolean;
  stdout: string;
}

function heard(path: string, words: string[], env: Environment, capMs: number): Promise<Said> {
  return new Promise((resolve) => {
    const bounds = { timeout: capMs, killSignal: "SIGKILL", maxBuffer: 64 * 1024 } as const;
    const child = execFile(path, words, { env, ...bounds }, (error, stdout) =>
      resolve({ ok: !error, isLate: error?.killed === true, stdout }),
    );
    // A program that would rather ask something must not wait for an answer.
    child.stdin?.end();
  });
}
