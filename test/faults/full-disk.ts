import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { temporaryHome } from "../../src/testing/index.ts";

const run = promisify(execFile);

/** A small disk of its own, which can be filled to the last byte. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Until nothing more fits. */
  fill(): void;
  free(): void;
}

/** Undefined with the reason where nobody may mount one (only root may). */
export async function smallDisk(megabytes: number): Promise<SmallDisk | { why: string }> {
  const folder = await temporaryHome();
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=700`, "tmpfs", folder.path]);
  } catch (error) {
    await folder.remove();
    return { why: `no disk can be mounted here: ${error instanceof Error ? error.message.trim() : error}` };
  }
  const ballast = join(folder.path, "ballast");
  const ballasts: string[] = [];
  return {
    path: folder.path,
    fill() {
      for (let size = 1 << 20; size >= 512; size >>= 1) {
        for (;;) {
          const file = `${ballast}-${ballasts.length}`;
          ballasts.push(file);
          try {
            writeFileSync(file, Buffer.alloc(size, 1));
          } catch {
            break;
          }
        }
      }
    },
    free() {
      for (const file of ballasts.splice(0)) rmSync(file, { force: true });
    },
    async [Symbol.asyncDispose]() {
      await run("umount", ["-l", folder.path]);
      await folder.remove();
    },
  };
}
