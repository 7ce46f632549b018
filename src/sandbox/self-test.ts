import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox, SelfTest } from "./sandbox.ts";

interface Proof {
  filtered?: boolean;
  question?: string | undefined;
  /** How long its words are waited for. */
  seconds?: number;
}

/**
 * Tests one thing that must work, writing into a bind, and some that must not: reading outside it, changing the
 * kernel's settings and, if system calls are filtered, creating a namespace. A question is run once all of that is
 * done: whatever it prints, and if it never ends, the result is the same.
 */
export async function proveSandbox(sandbox: Sandbox, proof: Proof = {}): Promise<SelfTest> {
  const { filtered = false, question, seconds = 5 } = proof;
  const root = await realpath(await mkdtemp(join(tmpdir(), "agiraph-self-test-")));
  const [allowed, denied] = [join(root, "allowed"), join(root, "denied")];
  try {
    for (const folder of [allowed, denied]) await mkdir(folder, { mode: 0o700 });
    await writeFile(join(denied, "secret"), secret, { mode: 0o644 });
    const { output, code } = await sandbox.run({
      command: [tries(denied, filtered), question === undefined ? "" : asked(question, seconds), "exit 7"].join("\n"),
      cwd: allowed,
      binds: { write: [allowed], read: [], hide: [] },
      env: {},
      timeoutMs: 10_000,
      signal: AbortSignal.timeout(15_000),
    });
    const [seen = "", answer] = output.split(`${tested}\n`);
    if (seen.includes(secret)) return { ok: false, reason: "a file outside of its folders could be read." };
    if (seen.includes("leaks")) return { ok: false, reason: "the kernel's settings could be written." };
    if (filtered && !seen.includes("calls are filtered") && code === 7)
      return { ok: false, reason: "its system calls are not filtered." };
    if (seen.includes("unshared")) return { ok: false, reason: "a namespace of its own could be made." };
    const made = await readFile(join(allowed, "made"), "utf8").catch(() => "");
    if (made !== "works\n" || code !== 7) return { ok: false, reason: `an allowed write did not work: ${seen.trim()}` };
    const detail = `${sandbox.about}: wrote where it may, was denied where it may not`;
    return { ok: true, detail, ...(answer !== undefined && { answer }) };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** As far as bash can by itself: each program more is a process more at every start. */
const tries = (denied: string, filtered: boolean) => `echo works > made
read -r words <${denied}/secret; echo "$words"; read -r words <made; echo "$words"
(: > /proc/sys/kernel/printk) 2>&- && echo leaks
${filtered ? tryCalls : ""}`;

const tryCalls = `while read -r key value; do [ "$key $value" = "Seccomp: 2" ] && echo calls are filtered; done </proc/self/status
unshare --user true 2>&- && echo unshared`;

/** What goes on for longer ends with the sandbox. */
const asked = (question: string, seconds: number) => `echo "${tested}"; SECONDS=0
while [ $SECONDS -lt ${seconds} ] && IFS= read -r -t ${seconds} -u 9 words; do echo "$words"; done 9< <(exec 2>&1
${question}
)`;

const tested = "that was the test";
const secret = "this must not be readable";
