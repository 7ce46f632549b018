import { type ChildProcess, spawn } from "node:child_process";
import { absoluteOnly, bareEnvironment, CONFIG } from "./environment.ts";

/**
 * Runs git outside any sandbox.
 *
 * REPOSITORY-1. Nothing that a repository's files name is run: no hook, file monitor, filter, ssh command, external
 * diff, merge driver, pager or helper.
 * REPOSITORY-2. Nothing of the environment but the search path reaches git, and no config but the repository's own.
 * REPOSITORY-3. Every call ends: time and output are limited, and where it reads what a worker made, so are memory, CPU time
 * and the size of the files it writes.
 */
export class Git {
  /** A folder for what is needed during one call; it is on the disk of the home. */
  readonly temporary: string;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(options: { env: Readonly<Record<string, string | undefined>>; temporary: string }) {
    this.#env = options.env;
    this.temporary = options.temporary;
  }

  /** The environment of the person, for what is done at their request with their settings: git push, gh. */
  get personEnvironment(): Record<string, string> {
    const known = Object.entries(this.#env).flatMap(([name, value]) =>
      value === undefined || isOfOneRepository(name) ? [] : [[name, value] as const],
    );
    return { ...Object.fromEntries(known), PATH: absoluteOnly(this.#env.PATH), GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
  }

  /** Throws a GitError unless it ends with one of the codes that are fine (0). */
  async run(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    const result = await this.attempt(args, options);
    if ((options.fine ?? [0]).includes(result.code)) return result;
    throw new GitError(args, result.code, result.stderr);
  }

  /** Resolves with any exit code. Throws only if git could not be started, or if a limit ended it. */
  attempt(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    const all = [...configOptions([...CONFIG, ...(options.config ?? [])]), ...args];
    return runProcess(["git", ...all], {
      ...options,
      env: { ...bareEnvironment(this.#env.PATH), ...(options.env ?? {}) },
      named: args,
    });
  }

  /** A line of output, without the newline. */
  async line(args: readonly string[], options: GitOptions = {}): Promise<string> {
    return (await this.run(args, options)).stdout.toString("utf8").replace(/\n$/, "");
  }

  /** With the person's own settings and helpers, at their request. Hooks and automatic maintenance stay off. */
  asPerson(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    const env = { ...this.personEnvironment, ...(options.env ?? {}) };
    return runProcess(["git", ...configOptions(PERSON_CONFIG), ...args], { ...options, env, named: args });
  }

  /** A program that is not git, in the person's environment. */
  program(command: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    const env = { ...this.personEnvironment, ...(options.env ?? {}) };
    return runProcess(command, { ...options, env, named: command });
  }
}

export interface GitOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** `name=value`, beside what is always set. */
  config?: readonly string[];
  stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  seconds?: number;
  maxBytes?: number;
  /** Given the output as it comes; nothing of it is kept then. False ends git, and its code counts as 0. */
  onOutput?: (part: Buffer) => boolean;
  fine?: readonly number[];
  limits?: ProcessLimits;
}

export interface ProcessLimits {
  memoryMiB: number;
  cpuSeconds: number;
  fileMiB: number;
}

export interface GitResult {
  code: number;
  stdout: Buffer;
  stderr: string;
}

export class GitError extends Error {
  readonly args: readonly string[];
  readonly code: number;
  readonly stderr: string;

  constructor(args: readonly string[], code: number, stderr: string) {
    super(`git ${commandIn(args)} failed (${code}): ${stderr.trim() || "it said nothing"}`);
    this.name = "GitError";
    this.args = args;
    this.code = code;
    this.stderr = stderr;
  }
}

function commandIn(args: readonly string[]): string {
  const at = args.findIndex(
    (arg, index) => !arg.startsWith("-") && !["-C", "--git-dir"].includes(args[index - 1] ?? ""),
  );
  return args[at] ?? "";
}

const PERSON_CONFIG = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "submodule.recurse=false",
];
const DEFAULT_SECONDS = 600;
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
const MOST_STDERR = 64 * 1024;

/** Variables such as GIT_DIR, which a hook or an alias that started us may have left, point to another repository. */
function isOfOneRepository(name: string): boolean {
  return /^GIT_(?!SSH|ASKPASS|AUTHOR_|COMMITTER_|CONFIG_GLOBAL$|CONFIG_SYSTEM$|CONFIG_NOSYSTEM$)/.test(name);
}

function configOptions(settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ["-c", setting]);
}

interface ProcessOptions extends GitOptions {
  env: Record<string, string>;
  named: readonly string[];
}

function runProcess(command: readonly string[], options: ProcessOptions): Promise<GitResult> {
  const [program = "", ...args] = limited(command, options.limits);
  return new Promise((resolve, reject) => {
    // A group of its own: Ctrl-C at the terminal is ours to handle, and a limit ends git's own children too.
    const child = spawn(program, args, {
      cwd: options.cwd ?? "/",
      env: options.env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const output = new GitOutput(options, (reason) => {
      stop(child);
      if (reason !== undefined) reject(new GitError(options.named, -1, reason));
    });
    const seconds = options.seconds ?? DEFAULT_SECONDS;
    const timer = setTimeout(
      () => output.end(`It took longer than ${seconds} seconds and was stopped.`),
      seconds * 1000,
    );
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(new GitError(options.named, -1, `${command[0]} could not be started: ${error.message}`));
    });
    child.stdout.on("data", (part: Buffer) => output.take(part));
    child.stderr.on("data", (part: Buffer) => output.takeWords(part));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve(output.result(code ?? 128, signal));
    });
    feed(child, options.stdin).catch((error: unknown) => output.end(String(error)));
  });
}

class GitOutput {
  readonly #options: ProcessOptions;
  readonly #stop: (reason: string | undefined) => void;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #words = "";
  #ended = false;

  constructor(options: ProcessOptions, stop: (reason: string | undefined) => void) {
    this.#options = options;
    this.#stop = stop;
  }

  take(part: Buffer): void {
    if (this.#ended) return;
    if (this.#options.onOutput) {
      if (!this.#options.onOutput(part)) this.end(undefined);
      return;
    }
    this.#bytes += part.length;
    const most = this.#options.maxBytes ?? DEFAULT_MAX_BYTES;
    if (this.#bytes > most) this.end(`Its output is larger than ${most} bytes.`);
    else this.#parts.push(part);
  }

  takeWords(part: Buffer): void {
    if (this.#words.length < MOST_STDERR) this.#words += part.toString("utf8");
  }

  end(reason: string | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stop(reason);
  }

  result(code: number, signal: NodeJS.Signals | null): GitResult {
    // Ended by us because the caller has what it wants.
    const own = this.#ended ? 0 : code;
    const words = signal !== null && !this.#ended ? `${this.#words}\nended by ${signal}` : this.#words;
    return { code: own, stdout: Buffer.concat(this.#parts), stderr: words };
  }
}

/** `sh` sets the limits and becomes git. Where the kernel has no such limit (memory on macOS), git runs without it. */
function limited(command: readonly string[], limits: ProcessLimits | undefined): readonly string[] {
  if (limits === undefined) return command;
  const script = [
    `ulimit -v ${limits.memoryMiB * 1024} 2>/dev/null`,
    `ulimit -t ${limits.cpuSeconds} 2>/dev/null`,
    `ulimit -f ${limits.fileMiB * 2048} 2>/dev/null`,
    `ulimit -c 0 2>/dev/null`,
    `exec "$@"`,
  ].join("; ");
  return ["/bin/sh", "-c", script, "sh", ...command];
}

async function feed(child: ChildProcess, stdin: GitOptions["stdin"]): Promise<void> {
  const pipe = child.stdin;
  if (!pipe) return;
  // A git that refuses its input closes the pipe before the end; what it says is in its code and words.
  let isClosed = false;
  pipe.on("error", () => {});
  pipe.on("close", () => {
    isClosed = true;
  });
  if (stdin === undefined || typeof stdin === "string" || stdin instanceof Uint8Array) {
    pipe.end(stdin ?? "");
    return;
  }
  for await (const part of stdin) {
    if (isClosed) break;
    if (!pipe.write(part))
      await new Promise<void>((go) => {
        pipe.once("drain", go);
        pipe.once("close", go);
      });
  }
  pipe.end();
}

function stop(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
