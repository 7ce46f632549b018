import { access } from "node:fs/promises";
import { type Binds, type Mount, mountsOf } from "./binds/binds.ts";
import { limited } from "./bounds/limits.ts";
import { runCommand } from "./process/run-command.ts";
import type { Program } from "./program.ts";
import type { Sandbox, SandboxPorts, ShellCommand } from "./sandbox.ts";
import { SandboxFailure } from "./sandbox-failure.ts";
import { proveSandbox } from "./self-test.ts";
import { startUnconfined, unconfined } from "./unsafe.ts";

const sandboxExec = "/usr/bin/sandbox-exec";

/** macOS. A profile denies all but what it lists; there are no pid namespaces, so SANDBOX-4 holds for the process group. */
export async function openSeatbelt(ports: SandboxPorts): Promise<Sandbox> {
  const sandbox: Sandbox = {
    kind: "seatbelt",
    about: `seatbelt (${sandboxExec})`,
    async run(command: ShellCommand) {
      await isThere();
      if (command.network)
        throw new SandboxFailure(
          "On macOS the sandbox cannot allow single hosts yet. Remove network.allow from config.json.",
        );
      const profile = seatbeltProfile(await mountsOf(withoutMirrors(command.binds)));
      const own = limited(ports, command);
      return runCommand(await unconfined(command, own, [sandboxExec, "-p", profile]), command, own);
    },
    async start(program: Program) {
      await isThere();
      const mounts = await mountsOf(withoutMirrors(program.binds));
      return startUnconfined(program, ports, (reachable) => [sandboxExec, "-p", seatbeltProfile(mounts, reachable)]);
    },
    selfTest: (question) => proveSandbox(sandbox, { question }),
  };
  return sandbox;
}

/** A profile shows nothing under another path. */
function withoutMirrors({ mirrors: _, ...binds }: Binds): Binds {
  return binds;
}

async function isThere(): Promise<void> {
  await access(sandboxExec).catch(() => {
    throw new SandboxFailure(`${sandboxExec} is missing, so commands cannot be confined.`);
  });
}

/**
 * The last matching rule decides, so the order of the mounts (deeper ones later) is the order of the rules. Of all
 * networks only the listed ports of this machine can be reached: our proxy, which connects to listed hosts, and our
 * door.
 */
export function seatbeltProfile(mounts: readonly Mount[], reachable: readonly number[] = []): string {
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-fork)",
    "(allow process-exec)",
    "(allow signal (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow file-read-metadata)",
    `(allow file-read* ${system.map(subpath).join(" ")})`,
    `(allow file-write-data file-read-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper"))`,
    ...mounts.map(rule),
    // What a command makes is ours on disk: as a set-user-ID program others could run it as us.
    "(deny file-write-setugid)",
    ...reachable.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`),
  ].join("\n");
}

const system = [
  "/bin",
  "/sbin",
  "/usr",
  "/System",
  "/Library/Developer",
  "/opt/homebrew",
  "/dev/fd",
  "/private/var/db/dyld",
  "/private/etc/ssl",
];

/** Here names can be told apart by a pattern, so a folder that is laid out is shown whole, without its dot names. */
function rule({ source, access, folder }: Mount): string {
  if (access === "lay_out")
    return `(deny file-write* ${subpath(source)})\n(allow file-read* ${subpath(source)})\n(deny file-read* (regex #"^${escaped(source)}/(.*/)?\\.[^/]+"))`;
  const where = folder ? subpath(source) : `(literal ${quoted(source)})`;
  if (access === "write") return `(allow file-read* file-write* ${where})`;
  if (access === "read") return `(deny file-write* ${where})\n(allow file-read* ${where})`;
  return `(deny file-read* file-write* ${where})`;
}

const subpath = (path: string) => `(subpath ${quoted(path)})`;

/** Signs that may mean something in a pattern stand for any but a slash: at most more is hidden then. */
const escaped = (path: string) => path.replace(/[^A-Za-z0-9/_-]+/g, "[^/]+");

/** A quote or a backslash in a folder's name must not end the string and begin a rule. */
const quoted = (path: string) => `"${path.replace(/[\\"]/g, "\\$&")}"`;
