import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, realpath, rmdir, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../protocol/clock.ts";
import { codeOf } from "../../store/disk/disk.ts";
import { nodeDisk } from "../../store/disk/node-disk.ts";
import type { LoginFormat } from "./login-format.ts";

const OURS = ".agiraph-lock";
const WAIT_MS = 50;
/** Longer than Claude Code waits before it takes over the lock of a dead holder. */
const PATIENCE_MS = 65_000;
const STALE_MS = 60_000;
const SIGN_OF_LIFE_MS = 5000;

type Release = () => Promise<void>;

/**
 * Keeps all other processes from renewing the login in this file.
 *
 * RENEWAL-LOCK-1. One renewal at a time: among our processes by our own lock beside the file, and with the person's own
 *     program by the lock that this program itself uses.
 * RENEWAL-LOCK-2. The lock of a dead holder does not stay: ours and Codex's are released with the process, that of
 *     Claude Code is taken over when it was not touched for a minute, as Claude Code itself does.
 */
export async function lockRenewal(
  file: string,
  kind: LoginFormat["lock"],
  clock: Clock,
  signal: AbortSignal,
): Promise<Release> {
  const path = await realpath(file);
  // Both, in this order, as Claude Code does itself: earlier versions know only the second.
  const folders =
    kind === "claude" ? [join(dirname(file), ".oauth_refresh.lock"), `${await realpath(dirname(file))}.lock`] : [];
  const silence = new Silence(folders);
  let waited = 0;
  const locks: Release[] = [];
  const release = async () => {
    for (const free of locks.reverse()) await free().catch(() => {});
  };
  const wait = async () => {
    waited += WAIT_MS;
    if (waited > PATIENCE_MS) throw new Error("another process has been renewing it for more than a minute");
    await clock.sleep(WAIT_MS, signal);
    await silence.look();
  };
  try {
    locks.push(await ours(`${path}${OURS}`, wait));
    for (const folder of folders) locks.push(await byFolder(folder, clock, silence, wait));
    if (kind === "flock") locks.push(await byFlock(join(dirname(file), "auth.lock"), signal));
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

async function ours(path: string, wait: () => Promise<void>): Promise<Release> {
  for (;;) {
    const lock = nodeDisk.lock(path);
    if (lock) return async () => lock.release();
    await wait();
  }
}

/** As `proper-lockfile` does it: a folder that is touched every few seconds. */
async function byFolder(path: string, clock: Clock, silence: Silence, wait: () => Promise<void>): Promise<Release> {
  for (;;) {
    try {
      await mkdir(path, { mode: 0o700 });
      break;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    if (silence.takeStale(path)) await rmdir(path).catch(() => {});
    else await wait();
  }
  const over = new AbortController();
  const keep = async () => {
    for (;;) {
      await clock.sleep(SIGN_OF_LIFE_MS, over.signal);
      await utimes(path, clock.now() / 1000, clock.now() / 1000);
    }
  };
  keep().catch(() => {});
  return async () => {
    over.abort();
    await rmdir(path);
  };
}

/**
 * How long these folders give no sign of life. That is counted, not compared with a clock, which may have been set; and
 * for all at once: one that was killed leaves both.
 */
class Silence {
  readonly #paths: readonly string[];
  readonly #seen = new Map<string, { touched: number; ms: number }>();

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Once for every pause. */
  async look(): Promise<void> {
    for (const path of this.#paths) {
      const touched = (await stat(path).catch(() => undefined))?.mtimeMs;
      const before = this.#seen.get(path);
      if (touched === undefined) this.#seen.delete(path);
      else this.#seen.set(path, { touched, ms: before?.touched === touched ? before.ms + WAIT_MS : 0 });
    }
  }

  /** Whether it has been silent for too long; from then on it is counted anew. */
  takeStale(path: string): boolean {
    const isStale = (this.#seen.get(path)?.ms ?? 0) >= STALE_MS;
    if (isStale) this.#seen.delete(path);
    return isStale;
  }
}

/** Node has no flock. Perl does, wherever Codex runs; it holds the lock until we close its input, or die. */
const HOLD = `use Fcntl ":flock"; $| = 1;
open(my $f, ">>", $ARGV[0]) or exit 3; flock($f, LOCK_EX) or exit 3; print "held\\n"; <STDIN>;`;

async function byFlock(path: string, signal: AbortSignal): Promise<Release> {
  const child = spawn("perl", ["-e", HOLD, path], { stdio: ["pipe", "pipe", "ignore"], env: {} });
  const gone = Promise.race([once(child, "exit"), once(child, "error").catch(() => {})]);
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  const limit = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const stop = () => child.kill("SIGKILL");
  limit.addEventListener("abort", stop, { once: true });
  const isLocked = await Promise.race([once(child.stdout, "data").then(() => true), gone.then(() => false)]);
  limit.removeEventListener("abort", stop);
  if (!isLocked && limit.aborted) throw new Error("Codex has been renewing it for more than a minute");
  // Without Perl our own lock is all there is.
  return async () => {
    child.stdin.end();
    await gone;
  };
}
