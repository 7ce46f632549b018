import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { TmuxSession } from "../../src/mesh/terminal/tmux-session.ts";
import { Terminals, withTmux } from "./terminals.ts";

const never = new AbortController().signal;
const LONG = { timeout: 120_000 };
const SOON = { timeout: 120_000, interval: 50 };
/** As a shell script reads: the kernel echoes what is typed, and a line is a line. */
const LINES = 'printf "> "; while read -r line; do echo "$line" >> taken; printf "Taken.\\n> "; done';

class LineReader implements AsyncDisposable {
  readonly #terminals = new Terminals();
  session!: TmuxSession;

  async open(before = ""): Promise<this> {
    const { server, dir } = this.#terminals;
    const env = { PATH: process.env.PATH ?? "", LANG: "C.UTF-8", TERM: "xterm-256color" };
    await server.start("mesh-a", { argv: ["sh", "-c", `${before}${LINES}`], env, cwd: dir });
    this.session = await this.#terminals.open("mesh-a");
    await this.#terminals.until("mesh-a", "ready");
    return this;
  }

  taken(): string[] {
    const file = join(this.#terminals.dir, "taken");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  }

  screen(): string {
    return this.#tmux("capture-pane", "-p", "-t", "=mesh-a:");
  }

  buffers(): string {
    return this.#tmux("list-buffers");
  }

  files(): string[] {
    return readdirSync(this.#terminals.dir).toSorted();
  }

  /** A person sits down before it: a terminal in a terminal, so that keys are keys. */
  async sitDown(): Promise<void> {
    const { server } = this.#terminals;
    const attach = server.attachWords("mesh-a").map((word) => `'${word}'`);
    this.#tmux("new-session", "-d", "-s", "person", "-x", "140", "-y", "45", `env -u TMUX ${attach.join(" ")}`);
    await vi.waitFor(() => expect(this.#ask("#{session_attached}")).toBe("2"), SOON);
  }

  async type(...keys: string[]): Promise<void> {
    this.#tmux("send-keys", "-t", "=person:", ...keys);
  }

  leave(): void {
    this.#tmux("kill-session", "-t", "=person");
  }

  /** By then whoever does not care for what is begun would have typed into it. */
  async untilKeysAreOld(): Promise<void> {
    await vi.waitFor(
      () => expect(Number(this.#ask("%s")) - Number(this.#ask("#{session_activity}"))).toBeGreaterThan(4),
      SOON,
    );
  }

  #ask(format: string): string {
    return this.#tmux("display-message", "-p", "-t", "=mesh-a:", format).trim();
  }

  #tmux(...words: string[]): string {
    return execFileSync("tmux", ["-S", this.#terminals.server.socket, ...words], { encoding: "utf8" });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#terminals[Symbol.asyncDispose]();
  }
}

withTmux(
  "TYPIST-2, UNSENT-1: what comes while a person has typed half a line waits until it is sent",
  LONG,
  async () => {
    await using reader = await new LineReader().open();
    await reader.sitDown();
    await reader.type("half a line");
    await vi.waitFor(() => expect(reader.screen()).toContain("> half a line"), SOON);
    const said = reader.session.say("[tx] from us", "from us", never);
    await reader.untilKeysAreOld();
    expect(reader.taken()).toEqual([]);
    await reader.type(" is whole", "Enter");
    await said;
    await vi.waitFor(() => expect(reader.taken()).toEqual(["half a line is whole", "[tx] from us"]), SOON);
  },
);

withTmux("UNSENT-2: a line that was deleted keeps nobody waiting", LONG, async () => {
  await using reader = await new LineReader().open();
  await reader.sitDown();
  await reader.type("half a line");
  await vi.waitFor(() => expect(reader.screen()).toContain("> half a line"), SOON);
  const said = reader.session.say("[tx] from us", "from us", never);
  await reader.type("C-u");
  await said;
  await vi.waitFor(() => expect(reader.taken()).toEqual(["[tx] from us"]), SOON);
});

withTmux("UNSENT-2: a line that a person has left behind is cleared away", LONG, async () => {
  await using reader = await new LineReader().open();
  await reader.sitDown();
  await reader.type("half a line");
  await vi.waitFor(() => expect(reader.screen()).toContain("> half a line"), SOON);
  const said = reader.session.say("[tx] from us", "from us", never);
  await reader.untilKeysAreOld();
  reader.leave();
  await said;
  await vi.waitFor(() => expect(reader.taken()).toEqual(["[tx] from us"]), SOON);
});

withTmux("TYPIST-1: on a full screen too, what ends alike is typed to a line reader once", LONG, async () => {
  // What is typed twice is seen: it does not know the key that empties a line.
  await using reader = await new LineReader().open("stty kill undef; ");
  const words = Array.from({ length: 16 }, (_, at) => `[tx] Task ${at} ${"a ".repeat(210)}(When it is done: tx done)`);
  for (const [at, text] of words.entries()) await reader.session.say(text, `Task ${at} `, never);
  await vi.waitFor(() => expect(reader.taken()).toEqual(words), SOON);
});

/** What a program may print to reach whoever looks at it: clipboard, title, formats, the protocol of tmux's clients. */
const HOSTILE_OUTPUT = [
  "\\033]52;c;cHduZWQ=\\007",
  "\\033]2;#(touch pwned) %%exit #{q:pane_pid}\\007",
  "\\033Ptmux;\\033\\033]52;c;cHduZWQ=\\007\\033\\\\\\\\",
  "\\033[?1049h\\033[?1049l\\033[?2004h\\033[?2004l",
  "%%begin 1 2 1\\n%%end 1 2 1\\n%%exit\\n%%output %%0 x\\n%%error 1 2 1\\n",
].join("");

withTmux(
  "TYPIST-3: neither what a program prints nor what is said to it becomes a key, a command or a clipboard",
  LONG,
  async () => {
    const flood = "head -c 300000 /dev/zero | tr '\\\\0' x; echo; ";
    await using reader = await new LineReader().open(`printf '${HOSTILE_OUTPUT}'; ${flood}`);
    await reader.sitDown();
    const said = [
      "[tx] 1 \x1b[201~touch pwned\x03\x04\x1a\x15 end",
      "[tx] 2 Enter C-c C-b d ; kill-server #{pane_pid} %exit",
    ];
    for (const [at, text] of said.entries()) await reader.session.say(text, `[tx] ${at + 1} `, never);
    await vi.waitFor(() => expect(reader.taken()).toHaveLength(2), SOON);
    expect(reader.taken()[0]).toMatch(/^\[tx\] 1 .*touch pwned.* end$/);
    expect(reader.taken()[1]).toBe(said[1]);
    expect([reader.buffers(), reader.files()]).toEqual(["", ["taken", "tmux.sock"]]);
  },
);
