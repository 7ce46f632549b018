import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import type { Mount } from "../binds/binds.ts";

/** The features of this version of bubblewrap. */
export interface Features {
  disableUserns: boolean;
  size: boolean;
}

export const ALL_FEATURES: Features = { disableUserns: true, size: true };

export async function featuresOf(bwrap: string): Promise<Features> {
  const { stdout } = await promisify(execFile)(bwrap, ["--help"], { env: {} }).catch(() => ({ stdout: "" }));
  return { disableUserns: stdout.includes("--disable-userns"), size: stdout.includes("--size") };
}

export const safePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** SANDBOX-3: what a command finds in its environment when nobody gave it more. */
const plainEnv = { PATH: safePath, HOME: "/tmp", LANG: "C.UTF-8", TERM: "dumb" };

export function namespaces({ disableUserns }: Features, root: boolean): string[] {
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

export function inMemory({ size }: Features, bytes: number): string[] {
  const bounded = size ? ["--size", String(bytes)] : [];
  return [
    ...["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"],
    // The keyrings of the user who started us are not shown.
    ...["/proc/keys", "/proc/key-users"].filter(existsSync).flatMap((file) => ["--ro-bind", "/dev/null", file]),
    ...[...bounded, "--tmpfs", "/dev/shm"],
    ...[...bounded, "--tmpfs", "/tmp"],
  ];
}

export function mountArgs(mount: Mount, source: string): string[] {
  const { at, access, folder } = mount;
  if (access === "write") return ["--bind", source, at];
  if (access === "read") return ["--ro-bind", source, at];
  if (access === "lay_out") return layoutArgs(mount, source);
  return folder ? ["--tmpfs", at] : ["--ro-bind", "/dev/null", at];
}

/** An empty folder in memory with the parts to show, unless it was laid out before bubblewrap started (MOUNTS-6). */
function layoutArgs({ at, source: real, parts = [] }: Mount, source: string): string[] {
  if (source !== real) return ["--ro-bind", source, at];
  const args = parts.map(({ path, kind, target }) => {
    if (kind === "link") return ["--symlink", target ?? "", `${at}/${path}`];
    return kind === "empty" ? ["--dir", `${at}/${path}`] : ["--ro-bind-try", `${real}/${path}`, `${at}/${path}`];
  });
  return ["--tmpfs", at, ...args.flat()];
}

/** They are made read-only after all mounts in them are done. */
export function foldersInMemory(mounts: readonly Mount[]): string[] {
  return mounts
    .filter(({ access, folder }) => folder && (access === "hide" || access === "lay_out"))
    .map(({ at }) => at);
}

export function environment(env: Readonly<Record<string, string>>): string[] {
  return [
    "--clearenv",
    ...Object.entries({ ...plainEnv, ...env }).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
}
