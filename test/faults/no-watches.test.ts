import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const LIMIT = "/proc/sys/user/max_inotify_watches";

/** In a user namespace of its own, where the kernel allows no watch. */
function inNamespace(...command: string[]): string[] {
  return ["-Ur", "sh", "-c", `echo 0 > ${LIMIT} && exec "$@"`, "sh", ...command];
}

const canLimit = (() => {
  try {
    execFileSync("unshare", inNamespace("true"), { stdio: "ignore" });
    return true;
  } catch {
    console.warn("Skipped: no user namespace in which watches can be limited.");
    return false;
  }
})();

test.skipIf(!canLimit)(
  "WATCH-FOLDER-1, WATCHER-4: where the kernel allows no watch, meshes and programs that speak by files work on",
  async () => {
    const child = [process.execPath, join(import.meta.dirname, "no-watches-child.ts")];
    const { stdout } = await promisify(execFile)("unshare", inNamespace(...child), { timeout: 100_000 });
    expect(stdout).toBe("[] It is made.\nlater is noticed\n");
  },
);
