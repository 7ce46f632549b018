import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { isBelow, type Mount, mountsOf } from "./binds.ts";
import { type Cgroup, openCgroups } from "./cgroups.ts";
import { lacksRoom, limitsNow, mustNotBeFull } from "./disk-use.ts";
import { type InnerNetwork, openInnerNetwork } from "./inner-network.ts";
import { mountPlan } from "./mount-script.ts";
import { canMountOutside, isManyParts, outerNamespace, outerNamespaceWithMounts } from "./outer-namespace.ts";
import { filterFd, type Launch, optionsFd, prologue, runProcess } from "./process.ts";
import type { Program, Running } from "./program.ts";
import { steppedDown } from "./root-launch.ts";
import { startProgram } from "./running.ts";
import {
  type Binds,
  type Command,
  type CommandResult,
  type Limits,
  type Missing,
  type Sandbox,
  SandboxFailure,
  type SandboxPorts,
} from "./sandbox.ts";
import { systemCallFilter } from "./seccomp.ts";
import { proveSandbox } from "./self-test.ts";
import { systemMounts } from "./system-mounts.ts";

/**
 * Linux: its own user, mount, pid, network, ipc and host name namespaces, no capabilities, no way to gain any, and only
 * the system calls that commands need.
 *
 * BWRAP-1. What runs inside can write into the memory of bubblewrap's first process, which has the same uid. So that
 *          process is trusted with nothing: a pid namespace around it, which the inside cannot see, is killed as a whole
 *          and dies with us. Where the machine refuses that namespace, the filter keeps the first process from taking
 *          its own parent-death signal back.
 */
export async function openBubblewrap(bwrap: string, ports: SandboxPorts, missing: Missing): Promise<Sandbox> {
  const [system, features] = [await systemMounts(), await featuresOf(bwrap)];
  const cgroups = missing.cgroups ? null : await openCgroups();
  const outer = !missing.outerNamespace;
  const mountsOutside = outer && ports.uid !== 0 && (await canMountOutside({ PATH: safePath }));
  const filters = [false, true].map((cgroup) => systemCallFilter(process.arch, { cgroup, outer }));

  /** The way into the sandbox, with bash inside that runs this script with these arguments. */
  async function confine({ cwd, binds, env, network, limits, script, args, streams }: Confined): Promise<Launch> {
    const mounts = await mountsOf(binds);
    if (!isWithin(cwd, mounts))
      throw new SandboxFailure(`The working folder ${cwd} lies outside of what the sandbox shows.`);
    await mustHaveRoom(binds.write, limits);
    const all = [...mounts, ...(network?.mounts ?? [])];
    const cgroup = cgroups?.take(limits) ?? null;
    const filter = filters[cgroup ? 1 : 0] ?? null;
    const options = (sourceOf: (mount: Mount) => string) => [
      ...namespaces(features, ports.uid === 0),
      ...(filter ? ["--seccomp", String(filterFd)] : []),
      ...system,
      ...inMemory(features, limits.tmpBytes),
      ...all.flatMap((mount) => mountArgs(mount, sourceOf(mount))),
      // Last, because mounting makes folders in it.
      ...["/", "/dev"].flatMap((folder) => ["--remount-ro", folder]),
      ...foldersInMemory(all).flatMap((folder) => ["--remount-ro", folder]),
      "--chdir",
      cwd,
      ...environment({ ...env, ...network?.env }),
    ];
    const inside = ["bash", "--noprofile", "--norc", "-c", script, "bash", ...args];
    return {
      ...launch({ bwrap, mounts: all, options, inside, streams, cgroup, outer, mountsOutside }, ports),
      network,
      filter,
    };
  }

  async function run(command: Command): Promise<CommandResult> {
    if (Buffer.byteLength(command.command) > longestCommand) {
      throw new SandboxFailure(
        `The command has more than ${longestCommand} bytes. Write it to a file first and run that.`,
      );
    }
    const { lookup } = ports;
    const limits = await limitsNow(command.binds, ports.limits, command.signal);
    const network = command.network ? openInnerNetwork({ network: command.network, lookup, mirror: false }) : undefined;
    const script = prologue({
      limits,
      timeoutMs: command.timeoutMs,
      linux: true,
      held: outer,
      ...(network ? { before: network.prologue } : {}),
    });
    let way: Launch | undefined;
    try {
      way = await confine({ ...command, network, limits, script, args: [command.command], streams: "one" });
      return await runProcess(way, command, ports);
    } finally {
      way?.cgroup?.release();
      network?.close();
    }
  }

  async function start(program: Program): Promise<Running> {
    const { lookup } = ports;
    const limits = { ...ports.limits, ...program.limits };
    await mustNotBeFull(program, limits);
    const wanted = { network: program.network, door: program.door, lookup, mirror: true };
    const network = program.network || program.door ? openInnerNetwork(wanted) : undefined;
    const { argv, env } = program.launch(network?.door ?? null);
    const before = network ? { before: network.prologue } : {};
    const script = prologue({ limits, timeoutMs: null, linux: true, held: outer, ...before });
    let way: Launch | undefined;
    const over = () => {
      way?.cgroup?.release();
      network?.close();
    };
    try {
      way = await confine({ ...program, env, network, limits, script, args: argv, streams: "apart" });
      return await startProgram(way, program, limits, over);
    } catch (error) {
      over();
      throw error;
    }
  }

  const sandbox: Sandbox = {
    kind: "bubblewrap",
    about: [
      `bubblewrap (${bwrap})`,
      ports.uid === 0 ? "stepping down from root first" : "",
      cgroups ? "memory bounded by cgroups" : "",
      outer ? "" : "without a pid namespace around it",
      filters[0] ? "" : `without a filter of system calls, which there is none of for ${process.arch}`,
    ]
      .filter(Boolean)
      .join(", "),
    run,
    start,
    selfTest: () => proveSandbox(sandbox, { filtered: filters[0] !== null }),
  };
  return sandbox;
}

interface Confined {
  cwd: string;
  binds: Binds;
  env: Readonly<Record<string, string>>;
  network: InnerNetwork | undefined;
  limits: Limits;
  script: string;
  args: readonly string[];
  /** A command says all on one. */
  streams: "one" | "apart";
}

/** Room for the rest within the kernel's 128 KiB for one argument. */
const longestCommand = 100_000;

export const safePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** SANDBOX-3: what a command finds in its environment when nobody gave it more. */
export const plainEnv = { PATH: safePath, HOME: "/tmp", LANG: "C.UTF-8", TERM: "dumb" };

interface Way {
  bwrap: string;
  mounts: readonly Mount[];
  options: (sourceOf: (mount: Mount) => string) => string[];
  inside: readonly string[];
  streams: Confined["streams"];
  cgroup: Cgroup | null;
  /** Whether a pid namespace is put around bubblewrap. */
  outer: boolean;
  /** Whether an ordinary user can make mounts in it. */
  mountsOutside: boolean;
}

function launch(way: Way, ports: SandboxPorts): Launch {
  const root = ports.uid === 0;
  const enter = way.cgroup?.enter ?? [];
  // Who mounts before bubblewrap starts is told what by its environment.
  const plan = root || (way.mountsOutside && isManyParts(way.mounts)) ? mountPlan(way.mounts) : null;
  const options = way.options(plan?.sourceOf ?? (({ source }) => source));
  const around = plan && !root ? outerNamespaceWithMounts : outerNamespace;
  const shell = ["bash", ...pipedOutput(way.streams), ...(root ? [] : enter), "--", ...(way.outer ? around : [])];
  const whole = [...shell, way.bwrap, "--args", String(optionsFd), "--", ...way.inside];
  const [program = "bash", ...args] = root ? steppedDown(enter, whole) : [...(way.outer ? diesWithUs : []), ...whole];
  return { program, args, cwd: "/", env: { PATH: safePath, ...plan?.env }, options, cgroup: way.cgroup };
}

const diesWithUs = ["setpriv", "--pdeathsig", "KILL", "--"];

/**
 * Node hands out sockets, which nobody can open again as /dev/stdout. `cat` passes on what comes as it comes, and
 * outlives bwrap by as long as it takes to pass on what is left, and no longer, since with bwrap all that write to the
 * pipe are dead. It is made by the uid that the command will have, whose pipe it then is. The files of a cgroup come
 * first, up to "--": this process enters it.
 */
function pipedOutput(streams: Confined["streams"]): string[] {
  const cat = (to: string) => `> >(exec cat ${to} 3>&- 4>&- 5>&- 6>&- 7>&-)`;
  const pipes = streams === "apart" ? `exec 7>&2 ${cat("")} 2${cat(">&7")} 7>&-` : `exec ${cat("")}`;
  const enter = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit; shift; done; shift';
  return ["--noprofile", "--norc", "-c", `${enter}; ${pipes}; exec "$@"`, "bash"];
}

async function mustHaveRoom(folders: readonly string[], limits: Limits): Promise<void> {
  const lacking = await lacksRoom(folders, limits);
  if (!lacking) return;
  const wanted = lacking === "disk" ? `${limits.freeDiskBytes} bytes` : `room for ${limits.freeFiles} more files`;
  throw new SandboxFailure(`There is no room on the disk, so no command is run. At least ${wanted} must be free.`);
}

function namespaces({ disableUserns }: Features, root: boolean): string[] {
  return [
    ...[
      "--unshare-all",
      "--unshare-user",
      "--die-with-parent",
      "--new-session",
      "--cap-drop",
      "ALL",
      "--hostname",
      "sandbox",
    ],
    ...(disableUserns ? ["--disable-userns"] : []),
    ...(root ? ["--uid", "65534", "--gid", "65534"] : []),
  ];
}

function inMemory({ size }: Features, bytes: number): string[] {
  const bounded = size ? ["--size", String(bytes)] : [];
  return [
    ...["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"],
    // What lies in the keyrings of who started us is nobody's business.
    ...["/proc/keys", "/proc/key-users"].filter(existsSync).flatMap((file) => ["--ro-bind", "/dev/null", file]),
    ...[...bounded, "--tmpfs", "/dev/shm"],
    ...[...bounded, "--tmpfs", "/tmp"],
  ];
}

function mountArgs(mount: Mount, source: string): string[] {
  const { at, access, folder } = mount;
  if (access === "write") return ["--bind", source, at];
  if (access === "read") return ["--ro-bind", source, at];
  if (access === "lay_out") return layoutArgs(mount, source);
  return folder ? ["--tmpfs", at] : ["--ro-bind", "/dev/null", at];
}

/** An empty folder in memory, and in it what is to be shown, unless it was laid out before bubblewrap started (MOUNTS-6). */
function layoutArgs({ at, source: real, parts = [] }: Mount, source: string): string[] {
  if (source !== real) return ["--ro-bind", source, at];
  const args = parts.map(({ path, kind, target }) => {
    if (kind === "link") return ["--symlink", target ?? "", `${at}/${path}`];
    return kind === "empty" ? ["--dir", `${at}/${path}`] : ["--ro-bind-try", `${real}/${path}`, `${at}/${path}`];
  });
  return ["--tmpfs", at, ...args.flat()];
}

/** Those that live in memory; to be closed when all mounts in them are made. */
function foldersInMemory(mounts: readonly Mount[]): string[] {
  return mounts
    .filter(({ access, folder }) => folder && (access === "hide" || access === "lay_out"))
    .map(({ at }) => at);
}

function environment(env: Readonly<Record<string, string>>): string[] {
  return [
    "--clearenv",
    ...Object.entries({ ...plainEnv, ...env }).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
}

function isWithin(cwd: string, mounts: readonly Mount[]): boolean {
  return (
    cwd === "/tmp" ||
    mounts.some(({ at, access, folder }) => access !== "hide" && folder && (cwd === at || isBelow(cwd, at)))
  );
}

interface Features {
  disableUserns: boolean;
  size: boolean;
}

async function featuresOf(bwrap: string): Promise<Features> {
  const { stdout } = await promisify(execFile)(bwrap, ["--help"], { env: {} }).catch(() => ({ stdout: "" }));
  return { disableUserns: stdout.includes("--disable-userns"), size: stdout.includes("--size") };
}
