import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSandbox } from "../../../src/sandbox/index.ts";

/**
 * Runs one command or program that tries to outlive its end; started by `lifetimes.test.ts`, which sees by a pipe in the
 * folder whether anything of it is alive. How it is to end: by itself, by its time, by a stop, or by our own death.
 */
const [as = "command", ending = "itself", script = ""] = process.argv.slice(2);
const desk = realpathSync(mkdtempSync(join(tmpdir(), "agiraph-life-")));
execFileSync("mkfifo", ["-m", "666", join(desk, "life")]);
writeFileSync(join(desk, "attack.py"), script);
chmodSync(desk, 0o755);
console.log(JSON.stringify({ pid: process.pid, desk }));

const stop = new AbortController();
if (ending === "stop") setInterval(() => existsSync(join(desk, "alive")) && stop.abort(new Error("stopped")), 10);
const sandbox = await openSandbox();
const place = { cwd: desk, binds: { write: [desk], read: [], hide: [] }, signal: stop.signal };
const words = ["/usr/bin/python3", "attack.py", ending] as const;
// Who has taken over the first process can hide that the command has ended: then its time ends it.
const timeoutMs = { time: 1_500, itself: 6_000 }[ending] ?? 60_000;
if (as === "command") {
  await sandbox.run({ ...place, command: words.join(" "), env: {}, timeoutMs }).catch((error) => error);
} else {
  const running = await sandbox.start({ ...place, launch: () => ({ argv: [...words], env: {} }) });
  running.stdout.resume();
  running.stderr.resume();
  await running.ended;
}
console.log("settled");
rmSync(desk, { recursive: true, force: true });
process.exit(0);
