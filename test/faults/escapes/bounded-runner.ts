import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSandbox } from "../../../src/sandbox/index.ts";

/** Runs each script of a job in a sandbox with the bounds given, and prints the results; started by `resources.test.ts`. */
interface Bounded {
  script: string;
  limits: Record<string, number>;
}

const jobs: Bounded[] = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(await Promise.all(jobs.map(run))));
process.exit(0);

async function run({ script, limits }: Bounded): Promise<{ output: string; exceeded: string | null }> {
  const desk = realpathSync(mkdtempSync(join(tmpdir(), "agiraph-bounds-")));
  chmodSync(desk, 0o755);
  writeFileSync(join(desk, "attack.py"), script);
  const sandbox = await openSandbox({ limits });
  const binds = { write: [desk], read: [], hide: [] };
  const command = { command: "/usr/bin/python3 attack.py", cwd: desk, binds, env: {}, timeoutMs: 20_000 };
  const { output, exceeded } = await sandbox.run({ ...command, signal: AbortSignal.timeout(30_000) });
  rmSync(desk, { recursive: true, force: true });
  return { output: output.slice(-500), exceeded };
}
