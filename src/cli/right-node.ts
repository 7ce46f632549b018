import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";

/**
 * What an older Node can do: hand over to the newer one that `npm ci` put beside the program, or say what is missing.
 * Only what Node 20 can read may stand here.
 *
 * N1. The words, streams, folder and exit code are those of the one that was called.
 * N2. A signal reaches the one that works, and what it makes of it is the end.
 */
export function handOver(program: string, entry: string): void {
  const node = ownNode(dirname(entry));
  if (node === undefined) {
    console.error(
      `${program} needs Node 22.18 or newer; this is ${process.versions.node} (${process.execPath}). Install a newer one: https://nodejs.org`,
    );
    process.exitCode = 1;
    return;
  }
  const child = spawn(node, [entry, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  // A terminal sends these to both.
  for (const signal of ["SIGINT", "SIGQUIT"] as const) process.on(signal, () => {});
  child.on("error", (error) => {
    console.error(
      `${program} needs Node 22.18 or newer, and ${node} did not start: ${error.message}. Run npm ci there.`,
    );
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
  });
}

function ownNode(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const node = join(folder, "node_modules/.bin/node");
    if (existsSync(node)) return node;
    if (folder === dirname(folder)) return undefined;
  }
}
