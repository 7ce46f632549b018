import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { meshNameSchema } from "../../protocol/mesh.ts";
import { writeFileAtomic } from "../disk/atomic-file.ts";
import { codeOf } from "../disk/disk.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { StoreUsageError } from "../errors.ts";

const grantedFileSchema = z.strictObject({
  path: z.string().min(1).max(4096),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  executable: z.boolean(),
});
export type GrantedFile = z.infer<typeof grantedFileSchema>;

const grantSchema = z.strictObject({
  /** The project's folder, without links. */
  project: z.string().min(1).max(4096),
  mesh: meshNameSchema,
  /** Of everything that the mesh consisted of when the person agreed. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Whether its agents may run in terminals: outside the sandbox, with the person's rights. */
  terminals: z.boolean(),
  at: z.iso.datetime(),
  /** Where the person agreed. */
  by: z.enum(["terminal", "page", "inbox", "api"]),
  /** The files of that content, to say later which of them changed. Grants from before have none. */
  files: z.array(grantedFileSchema).optional(),
});
export type TrustGrant = z.infer<typeof grantSchema>;

/** The oldest are dropped: a file with more entries would no longer be valid. */
const MOST_GRANTS = 10_000;
const fileSchema = z.strictObject({ version: z.literal(1), meshes: z.array(grantSchema).max(MOST_GRANTS) });

export const trustFile = (home: string): string => join(home, "trust.json");

/**
 * Which meshes of which projects a person trusts. It is in the home and never in a project: a project must not be able
 * to declare itself trusted.
 *
 * TRUST-1. An invalid file trusts nothing, which is reported; it is never replaced.
 * TRUST-2. Changes are made one after the other, even by two processes, and each is on disk when it resolves.
 */
export class TrustFile {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  /** Read again each time: `tx trust` may have written it in another process. */
  all(): TrustGrant[] {
    const path = trustFile(this.#home);
    const text = textIn(path);
    if (text === undefined) return [];
    try {
      return fileSchema.parse(JSON.parse(text)).meshes;
    } catch {
      throw new StoreUsageError(
        `${path} cannot be parsed, so no mesh is trusted. Restore the file, or delete it and trust your meshes again with tx trust.`,
      );
    }
  }

  grantOf(project: string, mesh: string): TrustGrant | undefined {
    return this.all().find((grant) => grant.project === project && grant.mesh === mesh);
  }

  /** There is one for each mesh of a project: the newest. */
  async grant(grant: TrustGrant): Promise<void> {
    await this.#change((all) =>
      [...all.filter((one) => !isSame(one, grant)), grantSchema.parse(grant)].slice(-MOST_GRANTS),
    );
  }

  /** False where there was none. */
  async revoke(project: string, mesh: string): Promise<boolean> {
    let found = false;
    await this.#change((all) => {
      const left = all.filter((one) => !isSame(one, { project, mesh }));
      found = left.length < all.length;
      return left;
    });
    return found;
  }

  /** TRUST-2. */
  async #change(change: (all: TrustGrant[]) => TrustGrant[]): Promise<void> {
    await mkdir(this.#home, { recursive: true, mode: 0o700 });
    const release = await this.#lock();
    try {
      const meshes = change(this.all());
      await writeFileAtomic(trustFile(this.#home), `${JSON.stringify({ version: 1, meshes }, null, 2)}\n`);
    } finally {
      release();
    }
  }

  async #lock(): Promise<() => void> {
    const path = `${trustFile(this.#home)}.lock`;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const lock = nodeDisk.lock(path);
      if (lock) return () => lock.release();
      await delay(WAIT_MS);
    }
    throw new StoreUsageError(`${path} is locked by another process. Try again when that has ended.`);
  }
}

const MOST_TRIES = 500;
const WAIT_MS = 10;
const MOST_BYTES = 16 * 1024 * 1024;

function isSame(a: Pick<TrustGrant, "project" | "mesh">, b: Pick<TrustGrant, "project" | "mesh">): boolean {
  return a.project === b.project && a.mesh === b.mesh;
}

/** A link, or what is not a regular file, is never taken for it. */
function textIn(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    return stat.isFile() && stat.size <= MOST_BYTES ? readFileSync(fd, "utf8") : "";
  } finally {
    closeSync(fd);
  }
}
