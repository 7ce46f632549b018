import { limitsNow, mustNotBeFull } from "./bounds/disk-use.ts";
import { limited } from "./bounds/limits.ts";
import { openLoopback } from "./network/inner-network.ts";
import type { Launch } from "./process/launch.ts";
import { prologue } from "./process/prologue.ts";
import { runCommand } from "./process/run-command.ts";
import { startProgram } from "./process/start-program.ts";
import type { Program, RunningProgram } from "./program.ts";
import type { Sandbox, SandboxPorts, ShellCommand } from "./sandbox.ts";

/**
 * No confinement: the command has all our rights, because someone asked for it. Limits, time-outs and the stripped
 * environment still apply, and its process group is killed, even when we are killed; a process that leaves its group is
 * not.
 */
export function openUnsafe(ports: SandboxPorts): Sandbox {
  return {
    kind: "unsafe",
    about: "no sandbox: commands run with all rights of this process",
    run: async (command) => {
      const own = limited(ports, command);
      return runCommand(await unconfined(command, own, []), command, own);
    },
    // Unconfined in its network too.
    start: ({ network: _, ...program }) => startUnconfined(program, ports, () => []),
    selfTest: async () => ({
      ok: false,
      reason: "Commands run without a sandbox, as you chose (--unsafe-no-sandbox, or sandbox.unsafe in config.json).",
    }),
  };
}

/** A launch whose processes are held together only by their group, under the given confining program, if any. */
export async function unconfined(
  command: ShellCommand,
  ports: SandboxPorts,
  wrapper: readonly string[],
): Promise<Launch> {
  const limits = await limitsNow(command.binds, ports.limits, command.signal);
  const script = prologue({ limits, timeoutMs: command.timeoutMs, linux });
  return grouped([...wrapper, ...bash, script, "bash", command.command], command.cwd, command.env);
}

/** The same for a program; the confining program is told which ports of this machine may be reached. */
export async function startUnconfined(
  program: Program,
  ports: SandboxPorts,
  wrapper: (ports: readonly number[]) => readonly string[],
): Promise<RunningProgram> {
  const limits = { ...ports.limits, ...program.limits };
  await mustNotBeFull(program, limits);
  const network = await openLoopback({ ...program, lookup: ports.lookup, mirror: true });
  try {
    const { argv, env } = await program.launch(network.door);
    const script = prologue({ limits, timeoutMs: null, linux });
    const all = [...wrapper(network.ports), ...bash, script, "bash", ...argv];
    const launch = grouped(all, program.cwd, { ...env, ...network.env });
    return await startProgram(launch, program, limits, network.close);
  } catch (error) {
    network.close();
    throw error;
  }
}

const bash = ["bash", "--noprofile", "--norc", "-c"];
const linux = process.platform === "linux";

function grouped(argv: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Launch {
  const [program = "bash", ...args] = argv;
  return { program, args, cwd, env: { ...plainEnv, ...env }, group: true };
}

const plainEnv = {
  PATH: "/opt/homebrew/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/tmp",
  LANG: "C.UTF-8",
  TERM: "dumb",
};
