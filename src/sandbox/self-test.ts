import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox, SelfTest } from "./sandbox.ts";

/**
 * Tests one thing that must work, writing into a bind, and some that must not: reading outside it, changing the
 * kernel's settings and, if system calls are filtered, creating a namespace.
 */
export async function proveSandbox(sandbox: Sandbox, { filtered = false } = {}): Promise<SelfTest> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "agiraph-self-test-")));
  const [allowed, denied] = [join(root, "allowed"), join(root, "denied")];
  try {
    for (const folder of [allowed, denied]) await mkdir(folder, { mode: 0o700 });
    await writeFile(join(denied, "secret"), secret, { mode: 0o644 });
    const { output, code } = await sandbox.run({
      command: `echo works > made; cat ${denied}/secret; cat made; (: > /proc/sys/kernel/printk) 2>&- && echo leaks; ${filtered ? tryCalls : ""} exit 7`,
      cwd: allowed,
      binds: { write: [allowed], read: [], hide: [] },
      env: {},
      timeoutMs: 10_000,
      signal: AbortSignal.timeout(15_000),
    });
    if (output.includes(secret)) return { ok: false, reason: "a file outside of its folders could be read." };
    if (output.includes("leaks")) return { ok: false, reason: "the kernel's settings could be written." };
    if (filtered && !output.includes("calls are filtered") && code === 7)
      return { ok: false, reason: "its system calls are not filtered." };
    if (output.includes("unshared")) return { ok: false, reason: "a namespace of its own could be made." };
    const made = await readFile(join(allowed, "made"), "utf8").catch(() => "");
    if (made !== "works\n" || code !== 7)
      return { ok: false, reason: `an allowed write did not work: ${output.trim()}` };
    return { ok: true, detail: `${sandbox.about}: wrote where it may, was denied where it may not` };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

const tryCalls = `while read -r key value; do [ "$key $value" = "Seccomp: 2" ] && echo calls are filtered; done </proc/self/status; unshare --user true 2>&- && echo unshared;`;

const secret = "this must not be readable";
