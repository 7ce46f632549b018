import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ControlClient } from "./tmux-client.ts";

/** The terminal that a program is started in. */
export interface Launch {
  /** The program and its arguments: seen by everybody on the machine, so nothing secret is among them. */
  argv: readonly [string, ...string[]];
  /** All its environment. */
  env: Readonly<Record<string, string>>;
  cwd: string;
}

/** Tmux is not here, or too old: what to do about it. */
export class NoTmux extends Error {
  override readonly name = "NoTmux";
}

/**
 * The terminals of one project, on a tmux server of their own that outlives us.
 *
 * U1. A private socket: nobody's own tmux is touched, and no other project's.
 * U2. A program gets the environment it was given and nothing of ours. It goes by stdin, never by arguments.
 * U3. A program that ends leaves its last screen behind, until it is started anew or killed.
 */
export class TmuxServer {
  readonly socket: string;
  readonly #path: string;

  constructor(socket: string, path: string) {
    this.socket = socket;
    this.#path = path;
  }

  /** What a person types to look at a terminal. */
  attachWords(session: string): [string, ...string[]] {
    return ["tmux", "-S", this.socket, "attach-session", "-t", `=${session}`];
  }

  /** The sessions there are; none where no server runs. */
  async sessions(): Promise<string[]> {
    const listed = await this.#run(["list-sessions", "-F", "#{session_name}"]).catch((error: unknown) => {
      if (error instanceof NoTmux) throw error;
      return "";
    });
    return listed.split("\n").filter((name) => name !== "");
  }

  /** Those whose program has not ended. */
  async alive(): Promise<string[]> {
    const listed = await this.#run(["list-panes", "-a", "-F", "#{pane_dead} #{session_name}"]).catch(
      (error: unknown) => {
        if (error instanceof NoTmux) throw error;
        return "";
      },
    );
    return listed.split("\n").flatMap((line) => (line.startsWith("0 ") ? [line.slice(2)] : []));
  }

  async has(session: string): Promise<boolean> {
    return (await this.sessions()).includes(session);
  }

  /** Starts a program in a session of this name. One that is there already and has ended is started anew. */
  async start(session: string, { argv, env, cwd }: Launch): Promise<void> {
    mkdirSync(dirname(this.socket), { recursive: true, mode: 0o700 });
    if (await this.has(session)) await this.kill(session);
    const variables = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    // tmux gives a program the PATH of whoever calls it, whatever it was told.
    const path = env.PATH === undefined ? [] : [`PATH=${env.PATH}`];
    const program = ["env", ...NOT_THEIRS.flatMap((name) => ["-u", name]), ...path, ...argv];
    const size = ["-x", String(COLUMNS), "-y", String(ROWS)];
    const lines = [
      // Written before the session is made, so that even a program that ends at once leaves its screen.
      ...OPTIONS.map((words) => ["set-option", "-g", ...words]),
      // Its clients hear of the new name at once: tmux's own notice of a death comes late, or not at all (3.3a, busy).
      ["set-hook", "-g", "pane-died", "rename-window ended"],
      ["new-session", "-d", "-s", session, "-n", "program", ...size, "-c", cwd, ...variables, "--", ...program],
    ];
    await this.#run(["start-server", ";", "source-file", "-"], `${lines.map(quotedLine).join("\n")}\n`);
    if (!(await this.has(session))) throw new Error(`tmux did not start ${session}.`);
  }

  async kill(session: string): Promise<void> {
    await this.#run(["kill-session", "-t", `=${session}`]).catch((error: unknown) => {
      if (error instanceof NoTmux) throw error;
      // It is gone already.
    });
  }

  async killAll(): Promise<void> {
    await this.#run(["kill-server"]).catch(() => {});
  }

  /** Somebody of ours who sits before the terminal, and does not change its size. */
  attach(session: string): ControlClient {
    const words = ["-S", this.socket, "-f", "/dev/null", "-C", "attach-session", "-f", "ignore-size", "-t"];
    const child = spawn("tmux", [...words, `=${session}`], { env: this.#env, stdio: ["pipe", "pipe", "ignore"] });
    return new ControlClient(child, session);
  }

  get #env(): Record<string, string> {
    return { PATH: this.#path, LANG: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh" };
  }

  #run(words: readonly string[], input = ""): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = execFile(
        "tmux",
        ["-S", this.socket, "-f", "/dev/null", ...words],
        { env: this.#env, timeout: 10_000 },
        (error, stdout, stderr) => {
          if (!error) resolve(stdout);
          else if (error.code === "ENOENT") reject(new NoTmux(MISSING));
          else reject(new Error(`tmux: ${(stderr || error.message).trim()}`));
        },
      );
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
    });
  }
}

const MISSING =
  'tmux is not installed, and this agent runs in a terminal. Install it (Debian, Ubuntu: apt install tmux; macOS: brew install tmux), or set "runs": "headless" or "harnessed" in the agent\'s config.json.';

const COLUMNS = 140;
const ROWS = 45;

/** They would tell the program where it is, and lead it to the terminals of the others. */
const NOT_THEIRS = ["TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];

const OPTIONS = [
  ["remain-on-exit", "on"],
  ["history-limit", "20000"],
  ["default-terminal", "screen-256color"],
  ["set-titles", "off"],
  ["automatic-rename", "off"],
  ["allow-rename", "off"],
  ["status-left-length", "60"],
  ["status-left", " #{session_name} "],
  ["status-right", " detach: Ctrl-b d "],
  // Else a key that comes right after Escape is taken for a sequence.
  ["escape-time", "10"],
] as const;

/** Of one project in one home. The path of a socket is short: where the home's is too long, a folder of ours in /tmp is taken. */
export function tmuxSocket(home: string, project: string): string {
  const name = `tmux-${createHash("sha256").update(project).digest("hex").slice(0, 12)}.sock`;
  const path = join(home, "tmux", name);
  if (path.length <= 100) return path;
  const own = createHash("sha256").update(home).digest("hex").slice(0, 12);
  return join(tmpdir(), `agiraph-${process.getuid?.() ?? 0}-${own}`, name);
}

/** One command as tmux reads it from a file or from a control client. */
export function quotedLine(words: readonly string[]): string {
  const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  if (/[\n\r\0]/.test(line)) throw new Error("A word for tmux holds a line break.");
  return line;
}
