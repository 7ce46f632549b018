import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Environment } from "../../runtime/config/settings.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import type { Terminal } from "../terminal.ts";

/**
 * `--detach`: another process does the whole run. This one waits until the agent is on disk, or until it is clear that
 * it will not be, so that the person sees an error such as a missing key.
 */
const MARK = "AGIRAPH_DETACHED";

interface Born {
  id: string;
  name: string;
  /** Where it works, when that is not the child itself. */
  server?: string;
  /** What the person should know at the start. */
  notes?: readonly string[];
  /** What came of it, where nobody is at work now: the agent is paused, say. */
  outcome?: string;
}

export function isDetached(env: Environment): boolean {
  return env[MARK] === "1";
}

/** Called by the child: tells the parent that the agent exists. */
export function tellParent(born: Born): void {
  // The parent may have been killed meanwhile.
  process.send?.(born, () => process.connected && process.disconnect());
}

/** Runs the same command in a separate process; `input` is what it reads in place of `-`. */
export async function detach(call: Invocation, words: readonly string[], input: string): Promise<ExitCode> {
  const { terminal, json, packageRoot, home } = call;
  const atHome = home === undefined ? [] : [`--home=${home}`];
  const [, main = join(packageRoot, "dist/bundle/main.js")] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, main, ...words, "--detach", ...atHome], {
    cwd: terminal.cwd,
    env: { ...terminal.env, [MARK]: "1" },
    detached: true,
    stdio: ["pipe", "ignore", "pipe", "ipc"],
  });
  child.stdin?.end(input);
  const heard: Buffer[] = [];
  child.stderr?.on("data", (chunk: Buffer) => heard.push(chunk));
  const { promise, resolve, reject } = Promise.withResolvers<Born | undefined>();
  child.once("message", (message) => resolve(message as Born));
  child.once("error", reject);
  child.once("close", () => resolve(undefined));
  const born = await promise;
  if (!born) {
    terminal.stderr.write(Buffer.concat(heard));
    return child.exitCode === EXIT.usage ? EXIT.usage : EXIT.failed;
  }
  child.stderr?.destroy();
  child.unref();
  const { server, notes = [], outcome } = born;
  if (outcome !== undefined) {
    if (json) await terminal.printJson({ id: born.id, name: born.name, message: outcome });
    else terminal.say(`${born.name}: ${outcome}`);
    return EXIT.done;
  }
  const where = server === undefined ? { pid: child.pid } : { server };
  if (json) await terminal.printJson({ id: born.id, name: born.name, ...where });
  else await terminal.printLines([born.id]);
  terminal.say(
    `${born.name} is running in the ${server === undefined ? `background (pid ${child.pid})` : `server at ${server}`}.`,
  );
  tellNumbered(terminal, words.find((word) => word.startsWith(NAME))?.slice(NAME.length), born.name);
  for (const note of notes) terminal.say(note);
  terminal.say(
    `Details: ${commandLine(call, "show", born.id)} · follow: ${commandLine(call, "logs", born.id, "-f")} · talk: ${commandLine(call, "chat", born.id)} · stop: ${commandLine(call, "stop", born.id)}`,
  );
  return EXIT.done;
}

const NAME = "--name=";

/** The name that was asked for belongs to another agent, which commands would find under it. */
export function tellNumbered(terminal: Terminal, asked: string | undefined, name: string): void {
  if (asked === undefined || asked.trim() === name) return;
  terminal.say(`${terminal.errPaint.yellow("!")} There is an agent ${asked} already, so this one is called ${name}.`);
}

/** Options as command-line flags; options that are not set are left out. */
export function flags(given: Readonly<Record<string, string | number | boolean | undefined>>): string[] {
  return Object.entries(given).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : [value === true ? `--${name}` : `--${name}=${value}`],
  );
}
