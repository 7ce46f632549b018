import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of its own for one test; it is gone when its scope ends. */
export interface TemporaryHome extends AsyncDisposable {
  readonly path: string;
  /** Removes the folder, read-only folders in it (published work) included. Calling it twice is harmless. */
  remove(): Promise<void>;
}

/**
 * ```ts
 * await using home = await temporaryHome();
 * await writeFile(join(home.path, "notes.md"), "…");
 * ```
 */
export async function temporaryHome(): Promise<TemporaryHome> {
  const path = await mkdtemp(join(tmpdir(), "agiraph-"));
  const remove = async () => {
    await unlock(path);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  };
  return { path, remove, [Symbol.asyncDispose]: remove };
}

/** Nobody but root can empty a read-only folder, so each is made writable first. Links are never followed. */
async function unlock(folder: string): Promise<void> {
  try {
    await chmod(folder, 0o700);
    const children = await readdir(folder, { withFileTypes: true });
    await Promise.all(children.filter((child) => child.isDirectory()).map((child) => unlock(join(folder, child.name))));
  } catch (error) {
    // A process that is still ending may have taken the folder away under our hands.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
