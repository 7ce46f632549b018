import { openCgroups, untriedCgroups } from "../bounds/cgroups.ts";
import { limitsNow, mustNotBeFull } from "../bounds/disk-use.ts";
import { limited } from "../bounds/limits.ts";
import { openInnerNetwork } from "../network/inner-network.ts";
import type { Launch } from "../process/launch.ts";
import { prologue } from "../process/prologue.ts";
import { runCommand } from "../process/run-command.ts";
import { startProgram } from "../process/start-program.ts";
import type { Program, RunningProgram } from "../program.ts";
import type { Sandbox, SandboxPorts, ShellCommand, ShellResult } from "../sandbox.ts";
import { SandboxFailure } from "../sandbox-failure.ts";
import { proveSandbox } from "../self-test.ts";
import { ALL_FEATURES, featuresOf, safePath } from "./bubblewrap-options.ts";
import { type Confinement, confine } from "./confine.ts";
import { canMountOutside } from "./outer-namespace.ts";
import { systemCallFilter } from "./seccomp.ts";
import { systemMounts } from "./system-mounts.ts";

/**
 * Linux: its own user, mount, pid, network, ipc and host name namespaces, no capabilities, no way to gain any, and only
 * the system calls that commands need.
 *
 * BWRAP-1. What runs inside can write into the memory of bubblewrap's first process, which has the same uid. So that
 *     process is not trusted: a pid namespace around it, which is invisible from inside, is killed as a whole and dies
 *     with us. If the machine refuses that namespace, the filter keeps the first process from removing its own
 *     parent-death signal.
 */
export async function openBubblewrap(bwrap: string, ports: SandboxPorts, missing: MissingPart): Promise<Sandbox> {
  const outer = !missing.outerNamespace;
  const { unasked = false } = missing;
  const [system, features, cgroups] = await Promise.all([
    systemMounts(),
    unasked ? ALL_FEATURES : featuresOf(bwrap),
    missing.cgroups ? null : unasked ? untriedCgroups() : openCgroups(),
  ]);
  const [filter = null, filterInCgroup = null] = [false, true].map((cgroup) =>
    systemCallFilter(process.arch, { cgroup, outer }),
  );
  let mounting: Promise<boolean> | undefined;
  const mountsOutside = () => {
    mounting ??= outer && ports.uid !== 0 ? canMountOutside({ PATH: safePath }) : Promise.resolve(false);
    return mounting;
  };
  const how: Confinement = { bwrap, ports, system, features, cgroups, outer, mountsOutside, filter, filterInCgroup };
  const sandbox: Sandbox = {
    kind: "bubblewrap",
    about: aboutOf(how),
    run: (command) => run(how, command),
    start: (program) => start(how, program),
    selfTest: (question) => proveSandbox(sandbox, { filtered: filter !== null, question }),
  };
  return sandbox;
}

/** What bubblewrap can do without, for a weaker guarantee. */
export interface MissingPart {
  cgroups?: boolean;
  outerNamespace?: boolean;
  /** Nothing is asked: the rest is taken to be there, and the self-test tells whether it is. */
  unasked?: boolean;
}

function aboutOf({ bwrap, ports, cgroups, outer, filter }: Confinement): string {
  return [
    `bubblewrap (${bwrap})`,
    ports.uid === 0 ? "dropping root first" : "",
    cgroups ? "memory limited by cgroups" : "",
    outer ? "" : "without a pid namespace around it",
    filter ? "" : `without a filter of system calls (there is none for ${process.arch})`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** Room for the rest within the kernel's 128 KiB for one argument. */
const longestCommand = 100_000;

async function run(how: Confinement, command: ShellCommand): Promise<ShellResult> {
  if (Buffer.byteLength(command.command) > longestCommand) {
    throw new SandboxFailure(
      `The command has more than ${longestCommand} bytes. Write it to a file first and run that.`,
    );
  }
  const { outer } = how;
  const ports = limited(how.ports, command);
  const limits = await limitsNow(command.binds, ports.limits, command.signal);
  const network = command.network
    ? openInnerNetwork({ network: command.network, lookup: ports.lookup, mirror: false })
    : undefined;
  const before = network ? { before: network.prologue } : {};
  const script = prologue({ limits, timeoutMs: command.timeoutMs, linux: true, isInside: outer, ...before });
  let launch: Launch | undefined;
  try {
    launch = await confine(how, { ...command, network, limits, script, args: [command.command], streams: "one" });
    return await runCommand(launch, command, ports);
  } finally {
    launch?.cgroup?.release();
    network?.close();
  }
}

async function start(how: Confinement, program: Program): Promise<RunningProgram> {
  const { ports, outer } = how;
  const limits = { ...ports.limits, ...program.limits };
  await mustNotBeFull(program, limits);
  const wanted = { network: program.network, door: program.door, lookup: ports.lookup, mirror: true };
  const network = program.network || program.door ? openInnerNetwork(wanted) : undefined;
  const before = network ? { before: network.prologue } : {};
  const script = prologue({ limits, timeoutMs: null, linux: true, isInside: outer, ...before });
  let launch: Launch | undefined;
  const over = () => {
    launch?.cgroup?.release();
    network?.close();
  };
  try {
    const { argv, env } = await program.launch(network?.door ?? null);
    launch = await confine(how, { ...program, env, network, limits, script, args: argv, streams: "apart" });
    return await startProgram(launch, program, limits, over);
  } catch (error) {
    over();
    throw error;
  }
}
