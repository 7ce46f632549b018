import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  commandLineOf,
  endAll,
  isSame,
  type Process,
  processOf,
  processTreeOf,
  type SendSignal,
} from "./process-tree.ts";
import { TmuxClient } from "./tmux-client.ts";
import { tmuxLine } from "./tmux-command.ts";

/** The terminal that a program is started in. */
export interface TerminalLaunch {
  /** The program and its arguments: seen by everybody on the machine, so nothing secret is among them. */
  argv: readonly [string, ...string[]];
  /** All its environment. */
  env: Readonly<Record<string, string>>;
  cwd: string;
}

/** tmux is not installed; the message says what to do. */
export class NoTmux extends Error {
  override readonly name = "NoTmux";
}

/**
 * The terminals of one project, on a tmux server of their own that outlives us.
 *
 * TMUX-SERVER-1. A private socket: neither the user's own tmux nor that of another project is touched.
 * TMUX-SERVER-2. A program gets the given environment and nothing of ours. We pass it through stdin, never as
 *     arguments.
 * TMUX-SERVER-3. The last screen of a program that has ended stays, until the program is restarted or killed.
 * TMUX-SERVER-4. Killing a session ends everything that it started, including processes that ignore the loss of their
 *     terminal. No other process is ever signalled: the session's leader must be a living child of this server with the
 *     same start time, whatever tmux says. A new session of the same name stays.
 * TMUX-SERVER-5. Nothing is pasted into a terminal whose program has ended: tmux 3.3a would crash, and all terminals
 *     with it.
 */
export class TmuxServer {
  readonly socket: string;
  readonly #path: string;
  readonly #signal: SendSignal;

  constructor(socket: string, path: string, signal: SendSignal = process.kill) {
    this.socket = socket;
    this.#path = path;
    this.#signal = signal;
  }

  /** What a person types to look at a terminal. */
  attachWords(session: string): [string, ...string[]] {
    return ["tmux", "-S", this.socket, "attach-session", "-t", `=${session}`];
  }

  /** The sessions there are; none where no server runs. */
  async sessions(): Promise<SessionInfo[]> {
    const listed = await this.#run(["list-panes", "-a", "-F", SESSION_FORMAT]).catch((error: unknown) => {
      if (error instanceof NoTmux) throw error;
      return "";
    });
    return listed.split("\n").flatMap((line) => sessionInfo(line) ?? []);
  }

  async find(session: string): Promise<SessionInfo | undefined> {
    return (await this.sessions()).find(({ name }) => name === session);
  }

  /** The names of those whose program has not ended. */
  async alive(): Promise<string[]> {
    return (await this.sessions()).flatMap(({ name, isDead }) => (isDead ? [] : [name]));
  }

  async has(session: string): Promise<boolean> {
    return (await this.find(session)) !== undefined;
  }

  /** Starts a program in a session of this name. One that is there already and has ended is started anew. */
  async start(session: string, { argv, env, cwd }: TerminalLaunch): Promise<SessionInfo> {
    mkdirSync(dirname(this.socket), { recursive: true, mode: 0o700 });
    await this.kill(session);
    const variables = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    // tmux gives a program the PATH of its caller, whatever -e says.
    const path = env.PATH === undefined ? [] : [`PATH=${env.PATH}`];
    const program = ["env", ...NOT_THEIRS.flatMap((name) => ["-u", name]), ...path, ...argv];
    const size = ["-x", String(COLUMNS), "-y", String(ROWS)];
    const lines = [
      // Written before the session is made, so that even a program that ends at once leaves its screen.
      ...OPTIONS.map((words) => ["set-option", "-g", ...words]),
      // Its clients hear of the new name at once: tmux's own notice of an end comes late, or not at all (3.3a, busy).
      ["set-hook", "-g", "pane-died", "rename-window ended"],
      ["new-session", "-d", "-s", session, "-n", "program", ...size, "-c", cwd, ...variables, "--", ...program],
    ];
    let why = "";
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      await this.#run(["start-server", ";", "source-file", "-"], `${lines.map(tmuxLine).join("\n")}\n`).catch(
        (error: unknown) => {
          if (error instanceof NoTmux) throw error;
          why = error instanceof Error ? ` ${error.message}` : "";
        },
      );
      const info = await this.find(session);
      if (info) return info;
      // A server whose last session has just ended is about to exit, and takes a session that is made now with it.
      await new Promise((resolve) => setTimeout(resolve, 50 * tries));
    }
    throw new Error(`tmux did not start ${session}.${why}`);
  }

  /** Ends a session with all that runs in it: the one of this name, or only the one that is meant. TMUX-SERVER-4. */
  async kill(session: string, meant?: SessionInfo): Promise<void> {
    const info = await this.find(session);
    if (!info || (meant && (info.id !== meant.id || info.pid !== meant.pid))) return;
    const leader = await this.#leaderOf(info);
    const tree = leader ? processTreeOf(leader) : [];
    const isIt = `#{==:#{session_name} #{pane_pid},${session} ${info.pid}}`;
    const end = tmuxLine(["kill-session", "-t", info.id]);
    await this.#run(["if-shell", "-F", "-t", `${info.id}:`, isIt, end]).catch((error: unknown) => {
      if (error instanceof NoTmux) throw error;
      // It is gone already.
    });
    await endAll(tree, this.#signal);
  }

  /** Every session, also those of agents that are not declared any more; then the server itself. */
  async killAll(): Promise<void> {
    const sessions = await this.sessions();
    await Promise.all(sessions.map((info) => this.kill(info.name, info)));
    await this.#run(["kill-server"]).catch(() => {});
  }

  /** TMUX-SERVER-4. Null if what tmux says is not true. */
  async #leaderOf({ pid, isDead }: SessionInfo): Promise<Process | null> {
    if (isDead || pid <= 1) return null;
    const said = await this.#run(["display-message", "-p", "#{pid}"]).catch(() => "");
    const server = processOf(Number(said.trim()));
    if (!server || server.pid <= 1 || !commandLineOf(server.pid).includes(this.socket)) return null;
    const leader = processOf(pid);
    return leader && leader.parent === server.pid && isSame(leader, processOf(pid)) ? leader : null;
  }

  /** Straight to the program, whatever a person's tmux shows just then. False: it has ended. */
  async paste(session: string, text: string, how: keyof typeof PASTED): Promise<boolean> {
    const buffer = `tx-${process.pid}-${++pastes}`;
    const target = ["-t", `=${session}:`];
    const paste = tmuxLine(["paste-buffer", "-d", "-b", buffer, ...target, ...PASTED[how]]);
    const ended = `${tmuxLine(["delete-buffer", "-b", buffer])} ; display-message -p ended`;
    const said = await this.#run(
      ["load-buffer", "-b", buffer, "-", ";", "if-shell", "-F", ...target, "#{pane_dead}", ended, paste],
      text,
    );
    return said.trim() !== "ended";
  }

  /** A client of ours at the terminal, which does not change its size. */
  attach(session: string): TmuxClient {
    const words = ["-S", this.socket, "-f", "/dev/null", "-C", "attach-session", "-f", "ignore-size", "-t"];
    const child = spawn("tmux", [...words, `=${session}`], { env: this.#env, stdio: ["pipe", "pipe", "ignore"] });
    return new TmuxClient(child, session);
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

/** An existing session, and the program that was started in it. */
export interface SessionInfo {
  name: string;
  /** As tmux has it: another one of the same name has another. */
  id: string;
  pid: number;
  isDead: boolean;
}

const SESSION_FORMAT = "#{session_id} #{pane_pid} #{pane_dead} #{session_name}";

function sessionInfo(line: string): SessionInfo | undefined {
  const [, id = "", pid, dead, name = ""] = /^(\$\d+) (\d+) ([01]) (.+)$/.exec(line) ?? [];
  return id === "" ? undefined : { name, id, pid: Number(pid), isDead: dead === "1" };
}

/** Buffers belong to the server: their names are unique over all sessions. */
let pastes = 0;
/** As one paste where the program asked for such, byte for byte, or as keys. */
const PASTED = { whole: ["-p"], raw: [], keys: ["-r"] } as const;

const MOST_TRIES = 5;
const COLUMNS = 140;
const ROWS = 45;

/** They would tell the program that it runs in tmux, and lead it to the terminals of others. */
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
  // Otherwise a key right after Escape is taken for an escape sequence.
  ["escape-time", "10"],
] as const;

/** One per project in a home. The path of a socket must be short: if the one in the home is too long, it is in /tmp. */
export function tmuxSocket(home: string, project: string): string {
  const name = `tmux-${createHash("sha256").update(project).digest("hex").slice(0, 12)}.sock`;
  const path = join(home, "tmux", name);
  if (path.length <= 100) return path;
  const own = createHash("sha256").update(home).digest("hex").slice(0, 12);
  return join(tmpdir(), `agiraph-${process.getuid?.() ?? 0}-${own}`, name);
}
