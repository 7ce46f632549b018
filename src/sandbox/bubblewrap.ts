import { execFile } from "node:child_process";
import { lstat, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { isBelow, type Mount, mountsOf } from "./binds.ts";
import { openEgress } from "./egress.ts";
import { type Launch, prologue, runProcess } from "./process.ts";
import { hasRoom } from "./resource-watch.ts";
import { steppedDown } from "./root-launch.ts";
import { type Command, type CommandResult, type Sandbox, SandboxFailure, type SandboxPorts } from "./sandbox.ts";
import { proveSandbox } from "./self-test.ts";

/** Linux: its own user, mount, pid, network, ipc and host name namespaces, no capabilities, no way to gain any. */
export async function openBubblewrap(bwrap: string, ports: SandboxPorts): Promise<Sandbox> {
  const system = await systemMounts();
  const features = await featuresOf(bwrap);

  async function run(command: Command): Promise<CommandResult> {
    if (Buffer.byteLength(command.command) > longestCommand) {
      throw new SandboxFailure(
        `The command has more than ${longestCommand} bytes. Write it to a file first and run that.`,
      );
    }
    const mounts = await mountsOf(command.binds);
    if (!isWithin(command.cwd, mounts))
      throw new SandboxFailure(`The working folder ${command.cwd} lies outside of what the sandbox shows.`);
    if (!(await hasRoom(command.binds.write, ports.limits))) {
      throw new SandboxFailure(
        `There is no room on the disk, so no command is run. At least ${ports.limits.freeDiskBytes} bytes must be free.`,
      );
    }
    const egress = command.network ? await openEgress(command.network, ports.lookup) : null;
    try {
      const all = [...mounts, ...(egress?.mounts ?? [])];
      const before = egress?.prologue ?? "";
      const script = prologue({ limits: ports.limits, timeoutMs: command.timeoutMs, linux: true, before });
      const args = (sourceOf: (mount: Mount) => string) => [
        ...namespaces(features, ports.uid === 0),
        ...system,
        ...inMemory(features, ports.limits.tmpBytes),
        ...all.flatMap((mount) => mountArgs(mount, sourceOf(mount))),
        // Last, because mounting makes folders in it.
        ...["/", "/dev"].flatMap((folder) => ["--remount-ro", folder]),
        ...hiddenFolders(all).flatMap((folder) => ["--remount-ro", folder]),
        "--chdir",
        command.cwd,
        ...environment({ ...command.env, ...egress?.env }),
        ...["--", "bash", "--noprofile", "--norc", "-c", script, "bash", command.command],
      ];
      return await runProcess(launch(bwrap, all, args, ports), command, ports);
    } finally {
      await egress?.close();
    }
  }

  const sandbox: Sandbox = {
    kind: "bubblewrap",
    about: `bubblewrap (${bwrap})${ports.uid === 0 ? ", stepping down from root first" : ""}`,
    run,
    selfTest: () => proveSandbox(sandbox),
  };
  return sandbox;
}

/** Room for the rest within the kernel's 128 KiB for one argument. */
const longestCommand = 100_000;

export const safePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** C3: what a command finds in its environment when nobody gave it more. */
export const plainEnv = { PATH: safePath, HOME: "/tmp", LANG: "C.UTF-8", TERM: "dumb" };

function launch(
  bwrap: string,
  mounts: readonly Mount[],
  args: (sourceOf: (mount: Mount) => string) => string[],
  ports: SandboxPorts,
): Launch {
  const base = { cwd: "/", env: { PATH: safePath } };
  const whole = (sourceOf: (mount: Mount) => string) => ["bash", ...pipedOutput, bwrap, ...args(sourceOf)];
  const [program = "bash", ...rest] = ports.uid === 0 ? steppedDown(mounts, whole) : whole(({ source }) => source);
  return { program, args: rest, ...base };
}

/**
 * Node hands out sockets, which nobody can open again as /dev/stdout. `cat` outlives bwrap by as long as it takes to
 * pass on what is left, and no longer, since with bwrap all that write to the pipe are dead. It is made by the uid that
 * the command will have, whose pipe it then is.
 */
const pipedOutput = ["--noprofile", "--norc", "-c", 'exec > >(exec cat 3>&-); exec "$@"', "bash"];

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
    ...[...bounded, "--tmpfs", "/dev/shm"],
    ...[...bounded, "--tmpfs", "/tmp"],
  ];
}

function mountArgs({ at, access, folder }: Mount, source: string): string[] {
  if (access === "write") return ["--bind", source, at];
  if (access === "read") return ["--ro-bind", source, at];
  return folder ? ["--tmpfs", at] : ["--ro-bind", "/dev/null", at];
}

function hiddenFolders(mounts: readonly Mount[]): string[] {
  return mounts.filter(({ access, folder }) => access === "hide" && folder).map(({ at }) => at);
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

/** Programs and what they need to start; of /etc only what is the same on any machine or public anyway. */
async function systemMounts(): Promise<string[]> {
  const args = ["--ro-bind", "/usr", "/usr"];
  for (const path of ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]) {
    const stat = await lstat(path).catch(() => undefined);
    if (stat?.isSymbolicLink()) args.push("--symlink", await readlink(path), path);
    else if (stat) args.push("--ro-bind", path, path);
  }
  for (const path of ["/nix/store", "/run/current-system/sw", ...etc.map((name) => `/etc/${name}`)]) {
    args.push("--ro-bind-try", path, path);
  }
  return args;
}

const etc = [
  ...["alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version"],
  ...["fonts", "group", "hosts", "inputrc", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic"],
  ...[
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki",
    "profile",
    "protocols",
    "python3",
    "services",
  ],
  ...["shells", "ssl", "static", "terminfo", "timezone"],
];
