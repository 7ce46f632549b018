import { lstat, mkdir, realpath } from "node:fs/promises";
import { isAbsolute, normalize, sep } from "node:path";
import { SandboxFailure } from "../sandbox-failure.ts";

/** Absolute paths of files and folders; the deeper path wins, so a folder can be writable inside a hidden one. */
export interface Binds {
  readonly write: readonly string[];
  readonly read: readonly string[];
  readonly hide: readonly string[];
  /** Folders of which only some parts are shown, read-only; all else in them is not there, whatever it becomes. */
  readonly laidOut?: readonly LaidOutFolder[];
  /** Where folders of these binds are shown once more, read-only. Only mounts can do that: a sandbox without omits them. */
  readonly mirrors?: readonly Mirror[];
}

export interface Mirror {
  readonly at: string;
  /** The folder as it is named in the other lists. */
  readonly of: string;
}

export interface LaidOutFolder {
  readonly at: string;
  readonly parts: readonly LaidOutPart[];
}

export interface LaidOutPart {
  /** As seen from the folder. */
  readonly path: string;
  /** Bound as it is; made again as a link; or an empty folder in which other parts may lie. */
  readonly kind: "folder" | "file" | "link" | "empty";
  /** Where a link leads; null for the others. */
  readonly target: string | null;
}

export interface Mount {
  /** Where the command sees it: the path it has outside. */
  at: string;
  /** The same without symlinks. */
  source: string;
  access: "write" | "read" | "hide" | "lay_out";
  folder: boolean;
  /** What is shown of a folder that is laid out. */
  parts?: readonly LaidOutPart[];
}

/**
 * The binds in mount order: deeper paths later, so that they win.
 *
 * BINDS-1. Below a folder that the command may write to, a symlink is never followed: the command itself may have
 *     created it.
 * BINDS-2. There, a path that should be protected must exist: a missing one cannot be mounted over, and the command
 *     could create it.
 * BINDS-3. A mirror shows no more than the folder itself, and nothing of it can be written there.
 */
export async function mountsOf(binds: Binds): Promise<Mount[]> {
  const wanted: Wanted[] = (["write", "read", "hide"] as const).flatMap((access) =>
    binds[access].map((path) => ({ at: checked(path), access })),
  );
  for (const { at, parts } of binds.laidOut ?? []) wanted.push({ at: checked(at), access: "lay_out", parts });
  // At equal paths the stricter comes later and wins.
  wanted.sort((a, b) => depth(a.at) - depth(b.at));
  const mounts: Mount[] = [];
  for (const { at, access, parts } of wanted) {
    const above = mounts.findLast((mount) => mount.folder && (at === mount.at || isBelow(at, mount.at)));
    const inWritable = above?.access === "write";
    const source = inWritable ? above.source + at.slice(above.at.length) : await realpath(at).catch(() => at);
    const stat = await lstat(source).catch(() => undefined);
    if (!stat && !inWritable && access !== "write") continue;
    if (!stat) throw new SandboxFailure(`${at} does not exist, so it cannot be shown in the sandbox. Create it first.`);
    if (inWritable && (await realpath(source).catch(() => null)) !== source) {
      throw new SandboxFailure(
        `${at} is reached by a symlink inside a folder that commands may write. Remove the link.`,
      );
    }
    mounts.push({ at, source, access, folder: stat.isDirectory(), ...(parts && { parts }) });
  }
  const mirrored = await Promise.all((binds.mirrors ?? []).map((mirror) => mirrorMounts(mirror, mounts)));
  return [...mounts, ...mirrored.flat()].sort((a, b) => depth(a.at) - depth(b.at));
}

/** None where the command has put something else into its place, which a mount would follow or replace. */
async function mirrorMounts({ at, of }: Mirror, mounts: readonly Mount[]): Promise<Mount[]> {
  const shown = mounts.findLast((mount) => mount.folder && mount.at === checked(of));
  if (!shown || shown.access === "hide") return [];
  const place = checked(at);
  await mkdir(place, { mode: 0o700 }).catch(() => {});
  if (!(await lstat(place).catch(() => undefined))?.isDirectory()) return [];
  const hidden = mounts.filter((mount) => mount.access === "hide" && isBelow(mount.at, shown.at));
  return [
    { ...shown, at: place, access: shown.access === "lay_out" ? "lay_out" : "read" },
    ...hidden.map((mount) => ({ ...mount, at: place + mount.at.slice(shown.at.length) })),
  ];
}

interface Wanted {
  at: string;
  access: Mount["access"];
  parts?: readonly LaidOutPart[];
}

export function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

const depth = (path: string) => path.split(sep).length;

/** Mounting over these would take the sandbox apart. */
const reserved = ["/proc", "/dev", "/sys", "/run"];

function checked(path: string): string {
  const at = normalize(path).replace(/(.)\/+$/, "$1");
  if (!isAbsolute(at) || at.includes("\0"))
    throw new SandboxFailure(`"${path}" is not an absolute path, so it cannot be shown in the sandbox.`);
  if (at === "/" || reserved.some((folder) => at === folder || isBelow(at, folder))) {
    throw new SandboxFailure(`${at} is a folder of the system and cannot be shown in the sandbox. Choose another one.`);
  }
  return at;
}
