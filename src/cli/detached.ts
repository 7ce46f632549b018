import { spawn } from "node:child_process";
import { join } from "node:path";
import type { RunOptions } from "./commands/run.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { commandLine, type Invocation } from "./invocation.ts";
import type { Environment } from "./terminal.ts";

/**
 * `run --detach`: another process does the whole run; this one waits only until the agent is on disk, or until it is
 * clear that it will not be, so that a missing key is told to the person and not to nobody.
 */
const MARK = "AGIRAPH_DETACHED";

interface Born {
  id: string;
  name: string;
}

export function isDetached(env: Environment): boolean {
  return env[MARK] === "1";
}

/** The child's part: the agent is there. */
export function tellParent(born: Born): void {
  process.send?.(born, () => process.disconnect());
}

export async function detach(call: Invocation, goal: string, options: RunOptions): Promise<ExitCode> {
  const { terminal, json, packageRoot } = call;
  const [, main = join(packageRoot, "dist/cli/main.js")] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, main, ...wordsFor(call, options)], {
    cwd: terminal.cwd,
    env: { ...terminal.env, [MARK]: "1" },
    detached: true,
    stdio: ["pipe", "ignore", "pipe", "ipc"],
  });
  child.stdin?.end(goal);
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
  if (json) await terminal.printJson({ id: born.id, name: born.name, pid: child.pid });
  else await terminal.printLines([born.id]);
  terminal.say(`${born.name} works in the background (pid ${child.pid}).`);
  terminal.say(
    `Look: ${commandLine(call, "show", born.id)} · follow: ${commandLine(call, "logs", born.id, "-f")} · stop: ${commandLine(call, "stop", born.id)}`,
  );
  return EXIT.done;
}

function wordsFor({ home }: Invocation, { model, workerModel, mode, budget, unsafeNoSandbox }: RunOptions): string[] {
  const flags = { home, model, "worker-model": workerModel, mode, budget };
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  const bare = unsafeNoSandbox ? ["--unsafe-no-sandbox"] : [];
  return ["run", "-", "--detach", ...bare, ...given.map(([name, value]) => `--${name}=${value}`)];
}
