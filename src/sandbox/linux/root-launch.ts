import { mountScript } from "./mount-script.ts";

/**
 * As root, bubblewrap would not protect: uid 0 outside stays uid 0 for the kernel. So the command becomes
 * someone who owns nothing, and yet has to reach folders that only root may enter. The mount script prepares that in a
 * mount namespace of its own (MOUNTS-1 to MOUNTS-3, MOUNTS-6). Then:
 *
 * MOUNTS-4. It steps down for good: no groups, no capabilities, no new privileges. It dies with us: the kernel forgets
 *     that request when the uid changes, so it is made last.
 * MOUNTS-5. Before, it enters the cgroup that bounds its memory, and a keyring of its own: none of our keys is in
 *     reach.
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

/** Free in Debian's and in systemd's tables of uids alike. */
export const unprivilegedUid = 60_640;
