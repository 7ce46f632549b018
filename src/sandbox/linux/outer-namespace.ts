import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Mount } from "../binds/binds.ts";
import { mountPlan, mountScript } from "./mount-script.ts";

/**
 * The pid namespace around bubblewrap, which is invisible from inside. It dies with `unshare`, which dies with us.
 * Without root, a pid namespace needs a user namespace, in which all ids stay the same.
 */
export const outerNamespace = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--"];

/**
 * The same with a mount namespace, in which the mounts are made before bubblewrap starts (MOUNTS-1, MOUNTS-6). The
 * capabilities for this belong to the new user namespace, apply to nothing outside, and are dropped before bubblewrap
 * starts.
 */
export const outerNamespaceWithMounts = [
  ...["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--propagation", "private"],
  ...["--pid", "--fork", "--kill-child", "--"],
  ...mountScript(null, []),
  ...["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--pdeathsig", "KILL", "--"],
];

/** With fewer parts to lay out, bubblewrap is as fast by itself. */
const FEWEST_PARTS = 24;

export const isManyParts = (mounts: readonly Mount[]): boolean =>
  mounts.reduce((sum, { parts = [] }) => sum + parts.length, 0) >= FEWEST_PARTS;

/**
 * Whether this machine has Perl and lets an ordinary user mount in a namespace; some allow that only for bubblewrap.
 */
export async function canMountOutside(env: NodeJS.ProcessEnv): Promise<boolean> {
  const parts = [{ path: "bin", kind: "folder", target: null }] as const;
  const plan = mountPlan([{ at: "/usr", source: "/usr", access: "lay_out", folder: true, parts }]);
  const [program = "", ...args] = [...outerNamespaceWithMounts, "test", "-e", "/tmp/0/bin/env"];
  const options = { env: { ...env, ...plan.env }, cwd: "/", timeout: 10_000, killSignal: "SIGKILL" } as const;
  return promisify(execFile)(program, args, options).then(
    () => true,
    () => false,
  );
}
