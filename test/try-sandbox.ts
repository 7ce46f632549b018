import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Command, openSandbox, type SandboxOptions } from "../src/sandbox/index.ts";

/** The sandbox of this machine. */
export const sandbox = await openSandbox();

/** Why the tests of real confinement are skipped; empty when they are not. It stands in their titles. */
export const skipped = sandbox.kind === "bubblewrap" ? "" : `(skipped: ${sandbox.about})`;

/** A folder to write in, in a folder of its own, and a way to run commands there. Gone when the test is over. */
export async function inSandbox(options?: SandboxOptions) {
  const root = await realpath(await mkdtemp(join(tmpdir(), "agiraph-test-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const work = join(root, "desk");
  await mkdir(work, { mode: 0o700 });
  const box = options ? await openSandbox(options) : sandbox;

  function run(
    command: string,
    { read = [], hide = [], ...more }: Partial<Command> & { read?: string[]; hide?: string[] } = {},
  ) {
    return box.run({
      command,
      cwd: work,
      binds: { write: [work], read, hide },
      env: {},
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      ...more,
    });
  }
  return { root, run, file: (name: string) => join(work, name), box };
}
