import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { readSync } from "node:fs";
import { childrenOf, closeFolder, WalkError, type WalkErrorKind } from "../../store/disk/folder.ts";
import { openFile, openFolder } from "../../store/disk/walk.ts";

/** A file that determines the behavior of a mesh, as it was read. */
export interface Source {
  text: string;
  bytes: number;
  sha256: string;
  executable: boolean;
}

/** A file of the declaration cannot be used: it is a link or a special file, too large, or unreadable. */
export class UnusableSource extends Error {
  override readonly name = "UnusableSource";
  /** As seen from the project. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Reads the files that declare one mesh.
 *
 * SOURCE-1. Each file is opened once, folder handle by folder handle. No link is followed, and only regular files are read.
 * SOURCE-2. What was read is kept: what is hashed is what is run, whatever happens to the file afterwards.
 * SOURCE-3. Size is bounded, for one file and for all of them.
 */
export class Sources {
  readonly #project: string;
  readonly #files = new Map<string, Source | null>();
  #bytes = 0;

  constructor(project: string) {
    this.#project = project;
  }

  /** The text of a file, by its path in the project; undefined if there is none. */
  read(path: string): string | undefined {
    const known = this.#files.get(path);
    if (known !== undefined) return known?.text;
    const source = this.#open(path);
    this.#files.set(path, source);
    return source?.text;
  }

  /** The folders in a folder of the project; links are left out. */
  folders(path: string): string[] {
    const folder = this.#guard(path, () => openFolder(this.#project, path.split("/")));
    if (!folder) return [];
    try {
      const { children } = childrenOf(folder, MOST_NAMES);
      return children.filter((child) => child.isDirectory()).map((child) => child.name);
    } finally {
      closeFolder(folder);
    }
  }

  /** Every file that was there, in the order of their names. */
  get files(): ReadonlyMap<string, Source> {
    const there = [...this.#files].flatMap(([path, source]) => (source ? [[path, source] as const] : []));
    return new Map(there.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #open(path: string): Source | null {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    const file = this.#guard(path, () => {
      const folder = openFolder(this.#project, parts);
      try {
        return openFile(folder, name);
      } finally {
        closeFolder(folder);
      }
    });
    if (!file) return null;
    try {
      const bytes = readAtMost(file.fd, MOST_BYTES + 1);
      if (bytes.length > MOST_BYTES) throw new UnusableSource(path, `It is larger than ${MOST_BYTES} bytes.`);
      this.#bytes += bytes.length;
      if (this.#bytes > MOST_BYTES_IN_ALL)
        throw new UnusableSource(path, `The files of this mesh are larger than ${MOST_BYTES_IN_ALL} bytes in all.`);
      if (!isUtf8(bytes)) throw new UnusableSource(path, "It is not UTF-8.");
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      return { text: bytes.toString("utf8"), bytes: bytes.length, sha256, executable: file.executable };
    } finally {
      file.close();
    }
  }

  #guard<T>(path: string, open: () => T): T | undefined {
    try {
      return open();
    } catch (error) {
      if (!(error instanceof WalkError)) throw error;
      if (error.kind === "missing" || error.kind === "not_folder") return undefined;
      throw new UnusableSource(path, UNUSABLE[error.kind] ?? `It cannot be read (${error.kind.replaceAll("_", " ")}).`);
    }
  }
}

/** A hash over names, contents and executable bits. */
export function hashOf(files: ReadonlyMap<string, Source>): string {
  const hash = createHash("sha256").update("agiraph mesh 1\n");
  // A JSON line for each file, so that no two lists of files give the same text.
  for (const [path, { sha256, executable }] of files) hash.update(`${JSON.stringify([path, executable, sha256])}\n`);
  return hash.digest("hex");
}

const MOST_BYTES = 1024 * 1024;
const MOST_BYTES_IN_ALL = 16 * 1024 * 1024;
const MOST_NAMES = 1_000;

const UNUSABLE: Partial<Record<WalkErrorKind, string>> = {
  link: "It is a link, or is reached by one. Links are not followed: put the file itself there.",
  special: "It is not a regular file.",
  is_folder: "It is a folder.",
  denied: "It cannot be read: permission denied.",
};

function readAtMost(fd: number, most: number): Buffer {
  const parts: Buffer[] = [];
  let left = most;
  while (left > 0) {
    const part = Buffer.allocUnsafe(Math.min(left, 64 * 1024));
    const read = readSync(fd, part, 0, part.length, null);
    if (read === 0) break;
    parts.push(part.subarray(0, read));
    left -= read;
  }
  return Buffer.concat(parts);
}
