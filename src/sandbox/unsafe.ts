import { type Launch, prologue, runProcess } from "./process.ts";
import type { Command, Sandbox, SandboxPorts } from "./sandbox.ts";

/**
 * No confinement: the command has all our rights, because someone asked for it. Bounds, time-outs and the stripped
 * environment still hold, and its process group is ended; a process that leaves its group is not.
 */
export function openUnsafe(ports: SandboxPorts): Sandbox {
  return {
    kind: "unsafe",
    about: "no sandbox: commands run with all rights of this process",
    run: (command) => runProcess(unconfined(command, ports, []), command, ports),
    selfTest: async () => ({ ok: false, reason: "Commands run unconfined, as was asked for by --unsafe-no-sandbox." }),
  };
}

/** A launch whose processes are held together by their group alone, under the confining program given, if any. */
export function unconfined(command: Command, ports: SandboxPorts, wrapper: readonly string[]): Launch {
  const script = prologue({ limits: ports.limits, timeoutMs: command.timeoutMs, linux: process.platform === "linux" });
  const [program = "bash", ...args] = [
    ...wrapper,
    "bash",
    "--noprofile",
    "--norc",
    "-c",
    script,
    "bash",
    command.command,
  ];
  return { program, args, cwd: command.cwd, env: { ...plainEnv, ...command.env }, group: true };
}

const plainEnv = {
  PATH: "/opt/homebrew/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/tmp",
  LANG: "C.UTF-8",
  TERM: "dumb",
};
