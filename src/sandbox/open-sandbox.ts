import { access } from "node:fs/promises";
import { defaultLimits, type Limits } from "./bounds/limits.ts";
import { type MissingPart, openBubblewrap } from "./linux/bubblewrap.ts";
import type { Lookup } from "./network/public-address.ts";
import type { Sandbox, SandboxPorts } from "./sandbox.ts";
import { SandboxFailure } from "./sandbox-failure.ts";
import { openSeatbelt } from "./seatbelt.ts";
import { openUnsafe } from "./unsafe.ts";

export interface SandboxOptions {
  /** Run commands unconfined. Loud wherever it shows. */
  unsafe?: boolean;
  limits?: Partial<Limits>;
  platform?: NodeJS.Platform;
  /** 0 when we are root and have to step down first. */
  uid?: number;
  /** Where the confining program is; for tests. */
  bwrap?: string;
  /** What this machine is taken to lack; for tests. */
  without?: MissingPart;
  lookup?: Lookup;
  /** Milliseconds on a clock that only goes forward. */
  now?: () => number;
  /** A command that is run with the self-test, which saves the start of a sandbox, and who gets its words. */
  question?: SandboxQuestion;
}

export interface SandboxQuestion {
  command: string;
  /** What it printed within a few seconds; not called if the sandbox was not opened. */
  answered(words: string): void;
}

/**
 * The best confinement that this machine has, already tested. Landlock is not used: Node cannot make its system calls,
 * and alone it would guarantee neither SANDBOX-2 (it knows only TCP) nor SANDBOX-4 (it has no pid namespace).
 */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const platform = options.platform ?? process.platform;
  const ports: SandboxPorts = {
    limits: { ...defaultLimits, ...options.limits },
    uid: options.uid ?? process.getuid?.() ?? -1,
    now: options.now ?? (() => performance.now()),
    ...(options.lookup ? { lookup: options.lookup } : {}),
  };
  if (options.unsafe) return openUnsafe(ports);
  if (platform === "linux") return linux(options, ports);
  if (platform === "darwin") return proven(await openSeatbelt(ports), options);
  return noSandbox(`There is no sandbox for ${platform} yet. ${unsafeHint}`);
}

const unsafeHint = "Or pass --unsafe-no-sandbox to run commands unconfined, with all your rights.";
const installHint = "Install it (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap).";

async function linux(options: SandboxOptions, ports: SandboxPorts): Promise<Sandbox> {
  const { bwrap, without = {} } = options;
  const found = await firstExisting(
    bwrap ? [bwrap] : ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"],
  );
  if (!found)
    return noSandbox(`bubblewrap is not installed, so commands cannot be confined. ${installHint} ${unsafeHint}`);
  // Nearly every machine has all of it: only where the test fails it is asked, part by part, what there is.
  const likely = await proven(await openBubblewrap(found, ports, { ...without, unasked: true }), options);
  if (likely.kind !== "none") return likely;
  const best = await proven(await openBubblewrap(found, ports, without), options);
  if (best.kind !== "none" || without.outerNamespace) return best;
  // Some machines let bubblewrap make namespaces, but not within another one.
  return proven(await openBubblewrap(found, ports, { ...without, outerNamespace: true }), options);
}

async function proven(sandbox: Sandbox, { question }: Pick<SandboxOptions, "question">): Promise<Sandbox> {
  if (sandbox.kind === "none") return sandbox;
  const test = await sandbox.selfTest(question?.command);
  if (!test.ok) return noSandbox(`The ${sandbox.kind} sandbox does not work here: ${test.reason} ${unsafeHint}`);
  if (test.answer !== undefined) question?.answered(test.answer);
  return sandbox;
}

function noSandbox(why: string): Sandbox {
  return {
    kind: "none",
    about: why,
    run: () => Promise.reject(new SandboxFailure(why)),
    start: () => Promise.reject(new SandboxFailure(why)),
    selfTest: async () => ({ ok: false, reason: why }),
  };
}

async function firstExisting(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const there = await access(path).then(
      () => true,
      () => false,
    );
    if (there) return path;
  }
  return undefined;
}
