import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestAPI, test } from "vitest";
import type { SessionState } from "../../src/mesh/terminal/session-state.ts";
import { TERMINAL_KINDS, type TerminalKind } from "../../src/mesh/terminal/terminal-kind.ts";
import { TmuxServer } from "../../src/mesh/terminal/tmux-server.ts";
import { TmuxSession } from "../../src/mesh/terminal/tmux-session.ts";

/** `test`, or where there is no tmux a test that is skipped and says so. */
export const withTmux: TestAPI | TestAPI["skip"] = hasTmux() ? test : test.skip;

function hasTmux(): boolean {
  try {
    execFileSync("tmux", ["-V"]);
    return true;
  } catch {
    console.warn("Skipped: tmux is not installed.");
    return false;
  }
}

/** A tmux server of its own in a folder of its own; both are gone afterwards. */
export class Terminals implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), "tx-"));
  readonly server = new TmuxServer(join(this.dir, "tmux.sock"), process.env.PATH ?? "");
  readonly states: [string, SessionState][] = [];
  readonly #sessions: TmuxSession[] = [];
  #waiting: { isSo: () => boolean; resolve: () => void }[] = [];

  /** A program that writes down what it takes. */
  async reader(
    name: string,
    { deafEvery = 0, slowMs = 0 } = {},
  ): Promise<{ session: TmuxSession; taken: () => string[] }> {
    const dir = join(this.dir, name);
    mkdirSync(dir);
    const file = join(dir, "taken");
    await this.server.start(name, {
      argv: [
        process.execPath,
        join(import.meta.dirname, "terminal-reader.ts"),
        file,
        String(deafEvery),
        String(slowMs),
      ],
      env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8", TERM: "xterm-256color" },
      cwd: dir,
    });
    return { session: await this.open(name), taken: () => linesIn(file) };
  }

  /** Codex as it was seen with a dialog open (`src/mesh/testing/screens/`), until a person answers it. */
  async player(
    name: string,
    screen: string,
  ): Promise<{ session: TmuxSession; answer: () => void; keys: () => string[] }> {
    const dir = join(this.dir, name);
    mkdirSync(dir);
    const file = join(dir, "keys");
    const shown = join(import.meta.dirname, "../../src/mesh/terminal/screens", `${screen}.txt`);
    await this.server.start(name, {
      argv: [process.execPath, join(import.meta.dirname, "dialog-player.ts"), file, shown],
      env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8", TERM: "xterm-256color" },
      cwd: dir,
    });
    const tmux = ["-S", this.server.socket, "list-panes", "-t", `=${name}:`, "-F", "#{pane_pid}"];
    const answer = () => process.kill(Number(execFileSync("tmux", tmux, { encoding: "utf8" })), "SIGUSR1");
    return { session: await this.open(name, TERMINAL_KINDS.codex), answer, keys: () => linesIn(file) };
  }

  async open(name: string, kind: TerminalKind = TERMINAL_KINDS.plain): Promise<TmuxSession> {
    const plan = { name, kind, hooks: null, blocked: () => {} };
    const session = await TmuxSession.open(this.server, plan, (state) => {
      this.states.push([name, state]);
      for (const one of this.#waiting.filter(({ isSo }) => isSo())) one.resolve();
    });
    this.#sessions.push(session);
    return session;
  }

  /** Resolves when somebody has come to this state. */
  until(name: string, state: SessionState): Promise<void> {
    const isSo = () => this.states.some(([who, what]) => who === name && what === state);
    return new Promise((resolve) => (isSo() ? resolve() : this.#waiting.push({ isSo, resolve })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.close();
    await this.server.killAll();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** So many processes that do nothing but compute, until it is disposed of. */
export function load(processes: number): Disposable {
  const busy = Array.from({ length: processes }, () =>
    spawn(process.execPath, ["-e", "for(;;);"], { stdio: "ignore" }),
  );
  return {
    [Symbol.dispose]() {
      for (const one of busy) one.kill("SIGKILL");
    },
  };
}

function linesIn(file: string): string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}
