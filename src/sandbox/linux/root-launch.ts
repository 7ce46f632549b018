import { mountScript } from "./mount-script.ts";

/**
 * As root, bubblewrap would not protect us: uid 0 outside stays uid 0 for the kernel. So the command runs as a user who
 * owns nothing, but still has to reach folders that only root may enter. The mount script prepares that in a separate
 * mount namespace (MOUNTS-1 to MOUNTS-3, MOUNTS-6). Then:
 *
 * MOUNTS-4. It drops its privileges permanently: no groups, no capabilities, no new privileges. It dies with us: the
 *     kernel forgets that request when the uid changes, so it is made last.
 * MOUNTS-5. Before that, it enters the cgroup that limits its memory, and its own keyring, so that it cannot reach any
 *     of our keys.
 */
export function steppedDown(cgroup: readonly string[], then: readonly string[]): string[] {
  return [
    ...["unshare", "--mount", "--propagation", "private", "--"],
    ...mountScript(unprivilegedUid, cgroup),
    ...["setpriv", `--reuid=${unprivilegedUid}`, `--regid=${unprivilegedUid}`, "--clear-groups"],
    ...["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--pdeathsig", "KILL", "--"],
    ...then,
  ];
}

/** Unused in the uid tables of both Debian and systemd. */
const unprivilegedUid = 60_640;
