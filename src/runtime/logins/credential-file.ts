import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { chown, type FileHandle, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../store/disk/disk.ts";

const MOST_BYTES = 1024 * 1024;
const ASIDE = ".agiraph-renewed-";

/**
 * A person's file in which a program keeps its login. The program itself writes it, too.
 *
 * CREDENTIAL-1. It is replaced atomically and durably; the new file has the same owner, and nobody else may read it.
 * CREDENTIAL-2. The result of a renewal is on disk under another name before the file is replaced. If the process dies
 *     in between, the next one finishes the replacement, unless the file has changed meanwhile.
 */
export class CredentialFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Undefined where there is none. */
  async read(): Promise<{ text: string; stamp: string } | undefined> {
    try {
      const handle = await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const found = await handle.stat();
        if (!found.isFile()) throw new Error("it is not a file");
        if (found.size > MOST_BYTES) throw new Error("it is too large");
        return { text: await handle.readFile("utf8"), stamp: stampOf(found) };
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
  }

  /** Changes whenever the file does. */
  async stamp(): Promise<string> {
    return stat(this.#path).then(stampOf, () => "none");
  }

  /** Replaces it by what was renewed with this refresh token, unless `isStill` says that it has changed. */
  async replace(text: string, refresh: string, isStill: () => Promise<boolean>): Promise<boolean> {
    const path = await realpath(this.#path);
    const aside = asideOf(path, refresh);
    await rm(aside, { force: true });
    const handle = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    await fill(handle, text);
    return this.#takeOver(aside, path, isStill);
  }

  /** Whether a renewal was cut off by the end of its process. */
  async wasCutOff(): Promise<boolean> {
    return (await this.#asides()).length > 0;
  }

  /** Finishes what another process could not, if it belongs to this refresh token; removes what does not. */
  async recover(refresh: string | null, isWhole: (text: string) => boolean): Promise<void> {
    const path = await realpath(this.#path).catch(() => undefined);
    if (path === undefined) return;
    const wanted = refresh === null ? undefined : asideOf(path, refresh);
    for (const aside of await this.#asides()) {
      const left = aside === wanted ? await new CredentialFile(aside).read().catch(() => undefined) : undefined;
      if (left && isWhole(left.text)) await this.#takeOver(aside, path, async () => true);
      else await rm(aside, { force: true });
    }
  }

  async #asides(): Promise<string[]> {
    const path = await realpath(this.#path).catch(() => this.#path);
    const names = await readdir(dirname(path)).catch(() => []);
    return names.filter((name) => name.startsWith(basename(path) + ASIDE)).map((name) => join(dirname(path), name));
  }

  async #takeOver(aside: string, path: string, isStill: () => Promise<boolean>): Promise<boolean> {
    const { uid, gid } = await stat(path);
    if (process.getuid?.() === 0) await chown(aside, uid, gid);
    if (!(await isStill())) {
      await rm(aside, { force: true });
      return false;
    }
    await rename(aside, path);
    const folder = await open(dirname(path), constants.O_RDONLY);
    await folder.sync().finally(() => folder.close());
    return true;
  }
}

/** A hash of a refresh token: it can be written down, because it cannot be used. */
export const markOf = (token: string): string => createHash("sha256").update(token).digest("hex").slice(0, 16);

const asideOf = (path: string, refresh: string): string => `${path}${ASIDE}${markOf(refresh)}`;

const stampOf = ({ mtimeMs, ino, size }: Stats): string => `${mtimeMs} ${ino} ${size}`;

async function fill(handle: FileHandle, text: string): Promise<void> {
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
