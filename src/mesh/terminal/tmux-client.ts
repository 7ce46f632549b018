import type { ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { tmuxLine } from "./tmux-command.ts";

/**
 * A tmux client in control mode: it sends commands and receives events as they happen, so nothing is polled.
 *
 * TMUX-CLIENT-1. Answers come in the order of the commands. A client that ends rejects pending commands.
 * TMUX-CLIENT-2. Every change of the terminal is reported: output, its title within a second, the end of its program at
 *     once.
 */
export class TmuxClient {
  /** The terminal's screen may be another, or its title, or its program has ended. */
  onChange: () => void = () => {};
  onEnd: () => void = () => {};
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #session: string;
  readonly #open: { resolve(lines: string[]): void; reject(error: Error): void }[] = [];
  #block: { end: string; isOurs: boolean; lines: string[] } | undefined;
  #rest = "";
  #hasEnded = false;

  constructor(child: ChildProcessByStdio<Writable, Readable, null>, session: string) {
    this.#child = child;
    this.#session = session;
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => this.#read(text));
    child.stdin.on("error", () => {});
    child.once("error", () => this.#end());
    child.once("close", () => this.#end());
    this.command("refresh-client", "-B", "pane:%*:#{pane_dead} #{pane_title}").catch(() => {});
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** What tmux answers, line by line. */
  command(...words: [string, ...string[]]): Promise<string[]> {
    if (this.#hasEnded) return Promise.reject(new Error(`The tmux session ${this.#session} no longer exists.`));
    const { promise, resolve, reject } = Promise.withResolvers<string[]>();
    this.#open.push({ resolve, reject });
    this.#child.stdin.write(`${tmuxLine(words)}\n`);
    return promise;
  }

  /** A command on the one pane that there is. */
  onPaneOf(...[name, ...words]: [string, ...string[]]): Promise<string[]> {
    return this.command(name, "-t", `=${this.#session}:`, ...words);
  }

  /** Leaves the terminal as it is. */
  close(): void {
    this.#child.stdin.end();
    this.#child.kill("SIGTERM");
    this.#end();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    if (this.#block) {
      const { end, isOurs, lines } = this.#block;
      if (line !== `%end ${end}` && line !== `%error ${end}`) {
        lines.push(line);
        return;
      }
      this.#block = undefined;
      if (!isOurs) return;
      const asked = this.#open.shift();
      if (line.startsWith("%end")) asked?.resolve(lines);
      else asked?.reject(new Error(`tmux: ${lines.join(" ")}`));
      return;
    }
    const [, end, flags] = /^%begin (\d+ \d+ (\d+))$/.exec(line) ?? [];
    if (end !== undefined) this.#block = { end, isOurs: flags === "1", lines: [] };
    else if (NEWS.test(line)) this.onChange();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.onEnd();
    for (const { reject } of this.#open.splice(0))
      reject(new Error(`The tmux session ${this.#session} no longer exists.`));
  }
}

const NEWS = /^%(output|subscription-changed|window-renamed) /;
