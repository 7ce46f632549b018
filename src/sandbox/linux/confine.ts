import { type Binds, isBelow, type Mount, mountsOf } from "../binds/binds.ts";
import type { Cgroup, Cgroups } from "../bounds/cgroups.ts";
import { lacksRoom } from "../bounds/disk-use.ts";
import type { Limits } from "../bounds/limits.ts";
import type { InnerNetwork } from "../network/inner-network.ts";
import { filterFd, type Launch, optionsFd } from "../process/launch.ts";
import type { SandboxPorts } from "../sandbox.ts";
import { SandboxFailure } from "../sandbox-failure.ts";
import {
  environment,
  type Features,
  foldersInMemory,
  inMemory,
  mountArgs,
  namespaces,
  safePath,
} from "./bubblewrap-options.ts";
import { mountPlan } from "./mount-script.ts";
import { isManyParts, outerNamespace, outerNamespaceWithMounts } from "./outer-namespace.ts";
import { steppedDown } from "./root-launch.ts";

/** How bubblewrap is started on this machine, determined once. */
export interface Confinement {
  bwrap: string;
  ports: SandboxPorts;
  /** Options that show the system's folders. */
  system: readonly string[];
  features: Features;
  cgroups: Cgroups | null;
  /** Whether a pid namespace is put around bubblewrap. */
  outer: boolean;
  /** Whether an ordinary user can make mounts in it. Tried when it is first asked: most commands need none. */
  mountsOutside(): Promise<boolean>;
  /** The filter of system calls; null where there is none for this processor. */
  filter: Buffer | null;
  /** The one for a sandbox whose memory a cgroup bounds. */
  filterInCgroup: Buffer | null;
}

export interface Confined {
  cwd: string;
  binds: Binds;
  env: Readonly<Record<string, string>>;
  network: InnerNetwork | undefined;
  limits: Limits;
  script: string;
  args: readonly string[];
  /** A command writes stdout and stderr to one stream. */
  streams: "one" | "apart";
}

/** How to start bubblewrap with a bash inside that runs this script with these arguments. */
export async function confine(how: Confinement, confined: Confined): Promise<Launch> {
  const { cwd, binds, env, network, limits, script, args, streams } = confined;
  const mounts = await mountsOf(binds);
  if (!isWithin(cwd, mounts))
    throw new SandboxFailure(`The working folder ${cwd} is outside of what the sandbox shows.`);
  await mustHaveRoom(binds.write, limits);
  const all = [...mounts, ...(network?.mounts ?? [])];
  const cgroup = how.cgroups?.take(limits) ?? null;
  const filter = cgroup ? how.filterInCgroup : how.filter;
  const options = (sourceOf: (mount: Mount) => string) => [
    ...namespaces(how.features, how.ports.uid === 0),
    ...(filter ? ["--seccomp", String(filterFd)] : []),
    ...how.system,
    ...inMemory(how.features, limits.tmpBytes),
    ...all.flatMap((mount) => mountArgs(mount, sourceOf(mount))),
    // Last, because mounting makes folders in it.
    ...["/", "/dev"].flatMap((folder) => ["--remount-ro", folder]),
    ...foldersInMemory(all).flatMap((folder) => ["--remount-ro", folder]),
    "--chdir",
    cwd,
    ...environment({ ...env, ...network?.env }),
  ];
  const inside = ["bash", "--noprofile", "--norc", "-c", script, "bash", ...args];
  const laidOut = isManyParts(all) && (await how.mountsOutside());
  return { ...launchOf(how, { mounts: all, laidOut, options, inside, streams, cgroup }), network, filter };
}

function isWithin(cwd: string, mounts: readonly Mount[]): boolean {
  return (
    cwd === "/tmp" ||
    mounts.some(({ at, access, folder }) => access !== "hide" && folder && (cwd === at || isBelow(cwd, at)))
  );
}

async function mustHaveRoom(folders: readonly string[], limits: Limits): Promise<void> {
  const lacking = await lacksRoom(folders, limits);
  if (!lacking) return;
  const wanted = lacking === "disk" ? `${limits.freeDiskBytes} bytes` : `room for ${limits.freeFiles} more files`;
  throw new SandboxFailure(`The disk is full, so no command is run. At least ${wanted} must be free.`);
}

interface Way {
  mounts: readonly Mount[];
  /** Before bubblewrap starts (MOUNTS-6). */
  laidOut: boolean;
  options: (sourceOf: (mount: Mount) => string) => string[];
  inside: readonly string[];
  streams: Confined["streams"];
  cgroup: Cgroup | null;
}

function launchOf({ ports, outer, bwrap }: Confinement, way: Way): Launch {
  const root = ports.uid === 0;
  const enter = way.cgroup?.enter ?? [];
  // The script that mounts before bubblewrap starts reads its plan from its environment.
  const plan = root || way.laidOut ? mountPlan(way.mounts) : null;
  const options = way.options(plan?.sourceOf ?? (({ source }) => source));
  const around = plan && !root ? outerNamespaceWithMounts : outerNamespace;
  const shell = ["bash", ...pipedOutput(way.streams), ...(root ? [] : enter), "--", ...(outer ? around : [])];
  const whole = [...shell, bwrap, "--args", String(optionsFd), "--", ...way.inside];
  const [program = "bash", ...args] = root ? steppedDown(enter, whole) : [...(outer ? diesWithUs : []), ...whole];
  return { program, args, cwd: "/", env: { PATH: safePath, ...plan?.env }, options, cgroup: way.cgroup };
}

const diesWithUs = ["setpriv", "--pdeathsig", "KILL", "--"];

/**
 * Node hands out sockets, which nobody can open again as /dev/stdout. `cat` passes on what comes as it comes. It outlives
 * bwrap by as long as it takes to pass on what is left, and no longer: once bwrap is dead, so is every process that
 * writes to the pipe. It is made by the uid that the command will have, so the pipe belongs to that uid. The files of a
 * cgroup come first, up to "--": this process enters it.
 */
function pipedOutput(streams: Confined["streams"]): string[] {
  const cat = (to: string) => `> >(exec cat ${to} 3>&- 4>&- 5>&- 6>&- 7>&-)`;
  const pipes = streams === "apart" ? `exec 7>&2 ${cat("")} 2${cat(">&7")} 7>&-` : `exec ${cat("")}`;
  const enter = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit; shift; done; shift';
  return ["--noprofile", "--norc", "-c", `${enter}; ${pipes}; exec "$@"`, "bash"];
}
