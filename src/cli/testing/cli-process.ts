import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The built program, as people start it (test/global-setup.ts). It also starts three times as fast as its source. */
const main = fileURLToPath(new URL("../../../dist/bundle/main.js", import.meta.url));

export interface CliOptions {
  /** Becomes HOME and the working directory. */
  folder: string;
  env?: Readonly<Record<string, string>>;
  stdin?: string;
  /** Another program than ours. */
  program?: string;
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The real program in a separate process, in an environment where nothing of this machine can interfere. */
export class CliProcess {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ended>;
  #stdout = "";
  #stderr = "";
  readonly #waiting = new Set<() => void>();

  constructor(words: readonly string[], options: CliOptions) {
    const child = spawn(process.execPath, [options.program ?? main, ...words], {
      cwd: options.folder,
      env: processEnvironment(options),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    if (options.stdin !== undefined) child.stdin.end(options.stdin);
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#heard(() => (this.#stdout += text)));
    child.stderr.setEncoding("utf8").on("data", (text: string) => this.#heard(() => (this.#stderr += text)));
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr });
        for (const wake of this.#waiting) wake();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves as soon as the words stand on stdout or stderr; rejects when the process ends without them. */
  async saw(words: string): Promise<void> {
    while (!this.#stdout.includes(words) && !this.#stderr.includes(words)) {
      if (!this.isRunning) throw new Error(`It ended without "${words}":\n${this.#stdout}\n${this.#stderr}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Somebody types; the keyboard stays open. */
  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Somebody reads a little and leaves, as `head` does. */
  leaveStdout(): void {
    this.#child.stdout?.destroy();
  }

  #heard(note: () => void): void {
    note();
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

export function agiraph(words: readonly string[], options: CliOptions): Promise<Ended> {
  return new CliProcess(words, { stdin: "", ...options }).ended;
}

/** No keys, no colours, no local model: only what a test puts there. */
export function processEnvironment({ folder, env = {} }: CliOptions): Record<string, string> {
  // What was compiled before (test/global-setup.ts): in a home of its own each process would begin anew.
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  return {
    PATH,
    NODE_COMPILE_CACHE,
    HOME: folder,
    TZ: "UTC",
    LANG: "C.UTF-8",
    OLLAMA_BASE_URL: "http://127.0.0.1:9",
    ...env,
  };
}

export const mainFile = main;
