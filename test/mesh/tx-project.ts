import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";

export const TX = join(import.meta.dirname, "../../dist/bundle/tx.js");
/** An agent as simple as can be: it ends whatever task it is given. */
const OBEDIENT = 'while read -r line; do case "$line" in *"[tx] Task"*) tx done "I am $TX_AGENT." ;; esac; done';

export interface TxSaid {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface TxOptions {
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  program?: string;
}

interface TxTalk {
  child: ChildProcessWithoutNullStreams;
  /** What it has said so far. */
  said: TxSaid;
  ended: Promise<TxSaid>;
  /** Resolves when it has said this. */
  until(words: RegExp): Promise<void>;
}

/** A project of two such agents in a row, and `tx` in a process of its own for every word. */
export class TxProject implements AsyncDisposable {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), "tx-")));
  readonly project = join(this.dir, "project");
  readonly home = join(this.dir, "home");

  constructor() {
    mkdirSync(join(this.project, "meshes/mesh-configs"), { recursive: true });
    mkdirSync(join(this.project, "deep/below"), { recursive: true });
    const config = {
      mesh: "relay",
      type: "persistent",
      agents: ["x/first", "x/second"],
      workflow: ["first", "second"],
    };
    writeFileSync(join(this.project, "meshes/mesh-configs/relay.json"), JSON.stringify(config));
    for (const name of ["first", "second"]) {
      mkdirSync(join(this.project, "meshes/agents/x", name), { recursive: true });
      const agent = { name, options: { program: "obedient", runs: "tmux" } };
      writeFileSync(join(this.project, "meshes/agents/x", name, "config.json"), JSON.stringify(agent));
      writeFileSync(join(this.project, "meshes/agents/x", name, "prompt.md"), "You are {{agent}} of {{mesh}}.\n");
    }
    mkdirSync(this.home);
    const programs = { obedient: { kind: "autonomous", command: ["sh", "-c", OBEDIENT] } };
    writeFileSync(join(this.home, "config.json"), JSON.stringify({ programs, server: { port: 0 } }));
  }

  tx(words: readonly string[], { stdin = "", ...options }: TxOptions & { stdin?: string } = {}): Promise<TxSaid> {
    const { child, ended } = this.talk(words, options);
    child.stdin.end(stdin);
    return ended;
  }

  /** The same, for a command that goes on until it is interrupted or its input ends. */
  talk(words: readonly string[], { cwd = this.project, env = {}, program = TX }: TxOptions = {}): TxTalk {
    const child = spawn(process.execPath, [program, ...words], {
      cwd,
      env: { PATH: process.env.PATH, HOME: this.dir, AGIRAPH_HOME: this.home, ...env },
    });
    const said: TxSaid = { code: null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
    const ended = new Promise<TxSaid>((resolve) => child.once("close", (code) => resolve({ ...said, code })));
    const until = (words: RegExp) =>
      vi.waitFor(() => expect(said.stdout + said.stderr).toMatch(words), { timeout: 60_000, interval: 50 });
    return { child, said, ended, until };
  }

  async json(...words: string[]): Promise<unknown> {
    return JSON.parse((await this.tx([...words, "--json"])).stdout);
  }

  messages(place: string, queue: string): string[] {
    const dir = join(this.project, ".ai/tx/mesh", place, "msgs", queue);
    return existsSync(dir) ? readdirSync(dir).toSorted() : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tx(["kill", "relay"]);
    const holder = join(this.home, "home.lock.json");
    if (existsSync(holder)) await this.endServer();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async endServer(): Promise<void> {
    const { pid, ended_ts } = JSON.parse(readFileSync(join(this.home, "home.lock.json"), "utf8")) as {
      pid: number;
      ended_ts?: number;
    };
    if (ended_ts !== undefined) return;
    process.kill(pid, "SIGTERM");
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 15_000, interval: 50 });
  }
}
