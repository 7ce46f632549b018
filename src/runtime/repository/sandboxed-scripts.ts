import type { Scrubber } from "../../boundary/scrubber.ts";
import type { Limits, Network, Sandbox } from "../../sandbox/index.ts";

export interface ScriptAccess {
  /** Where it begins; must be in one of the lists. */
  cwd: string;
  write: readonly string[];
  read: readonly string[];
  env?: Readonly<Record<string, string>>;
  network?: Network;
  seconds?: number;
  limits?: Partial<Limits>;
}

export interface ScriptResult {
  ok: boolean;
  ms: number;
  /** The end of what it printed, without keys. */
  output: string;
}

/** What a person can fix: there is no sandbox, the repository is gone, git is missing. */
export class RepositoryProblem extends Error {
  override readonly name = "RepositoryProblem";
}

/**
 * Runs our scripts, and the project's own commands, where a worker may have written: in the sandbox, never outside.
 *
 * SCRIPTS-1. Without a sandbox nothing runs. Where the person chose to have none (`--unsafe-no-sandbox`), a worker has all
 *     their rights anyway.
 */
export class SandboxedScripts {
  readonly #sandbox: () => Promise<Sandbox>;
  readonly #scrubber: Scrubber;

  constructor(sandbox: () => Promise<Sandbox>, scrubber: Scrubber) {
    this.#sandbox = sandbox;
    this.#scrubber = scrubber;
  }

  async run(command: string, access: ScriptAccess, signal: AbortSignal): Promise<ScriptResult> {
    const sandbox = await this.#sandbox();
    if (sandbox.kind === "none") {
      throw new RepositoryProblem(`A team that writes needs a sandbox, and there is none: ${sandbox.about}`);
    }
    const { cwd, write, read, env = {}, network, limits, seconds = USUAL_SECONDS } = access;
    const result = await sandbox.run({
      command,
      cwd,
      binds: { write, read, hide: [] },
      env: { ...TRUSTING, ...env },
      timeoutMs: seconds * 1000,
      maxOutputBytes: MOST_OUTPUT,
      signal,
      ...(network && { network }),
      ...(limits && { limits }),
    });
    const notes = [
      result.timedOut ? `It was ended after ${seconds} s.` : "",
      result.exceeded ? `It was ended because it used too much: ${result.exceeded}.` : "",
    ];
    const said = [result.output.trimEnd(), ...notes].filter(Boolean).join("\n");
    return { ok: result.code === 0, ms: result.ms, output: this.#scrubber.text(said) };
  }

  /** Runs a script of ours. Returns the word that its last line begins with, and the rest of that line. */
  async lastLine(script: string, access: ScriptAccess, signal: AbortSignal): Promise<{ word: string; rest: string }> {
    const { ok, output } = await this.run(script, access, signal);
    const last = output.trimEnd().split("\n").at(-1) ?? "";
    const [, word = "", rest = ""] = /^([A-Z]+)(?: (.*))?$/.exec(last) ?? [];
    if (!ok || word === "") throw new ScriptFailed(output.slice(-LONGEST_WORDS) || "it said nothing");
    return { word, rest };
  }
}

/** A script of ours ended with an error. What it printed last says why. */
export class ScriptFailed extends Error {
  override readonly name = "ScriptFailed";
  constructor(output: string) {
    super(`git in the sandbox failed: ${output}`);
  }
}

/** In some sandboxes another user owns the folders. What is in them is only ever run in there. */
export const TRUSTING: Readonly<Record<string, string>> = {
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
};

const USUAL_SECONDS = 600;
const MOST_OUTPUT = 1024 * 1024;
const LONGEST_WORDS = 2000;
