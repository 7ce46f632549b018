import { stat } from "node:fs/promises";
import type { Situation } from "../../projections/index.ts";
import { loadSettings, type Settings } from "../../runtime/config/settings.ts";
import { findAgent } from "../../runtime/views/find-agent.ts";
import { codeOf } from "../../store/disk/disk.ts";
import { nodeDisk } from "../../store/disk/node-disk.ts";
import { HomeNotMadeError } from "../../store/errors.ts";
import { type HomeHolder, readHolder } from "../../store/home/home.ts";
import { homeProblems, requireTrustedHome } from "../../store/home/home-modes.ts";
import { isRunning } from "../../store/home/process-stamp.ts";
import { openStore } from "../../store/open-store.ts";
import { lockFile } from "../../store/paths.ts";
import type { AgentLog, Store } from "../../store/store.ts";
import { Refusal, UsageError } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";

/** A read-only view of a home, in which another process may be working. */
export interface Look {
  settings: Settings;
  store: Store;
  /** The process that works in this home now. */
  holder: HomeHolder | undefined;
}

export async function lookAt(call: Invocation): Promise<Look> {
  const settings = await settingsOf(call, { isOnlyLooking: true });
  const store = await openStore({ root: settings.home, clock: { now: Date.now }, readOnly: true });
  return { settings, store, holder: liveHolder(settings.home) };
}

export async function lookAtAgent(call: Invocation, word: string): Promise<Look & { now: Situation; log: AgentLog }> {
  const look = await lookAt(call);
  const now = await findAgent(look.store, word);
  return { ...look, now, log: await look.store.open(now.agent.id) };
}

/**
 * For what erases an agent or brings it back: by its whole name or id. The beginning may be that of another, once the
 * one that was meant is gone, and nobody sees in `ls` which one that is. `todo`: what was to be done with it.
 */
export async function lookAtNamed(
  call: Invocation,
  word: string,
  todo: string,
): Promise<Look & { now: Situation; log: AgentLog }> {
  const look = await lookAtAgent(call, word);
  const { id, created } = look.now.agent;
  if (word !== id && word !== created.name)
    throw new Refusal(
      `There is no agent "${word}", only ${created.name} (${id}). To ${todo}, give its whole name or its id.`,
    );
  return look;
}

interface SettingsOptions {
  unsafeNoSandbox?: boolean;
  isOnlyLooking?: boolean;
  /** Whether a mistake in config.json, or in the modes of the home, is said here. */
  isTold?: boolean;
}

/**
 * The settings of a command. An error in config.json is a problem for the process that works in the home: it prevents
 * neither reading the home nor talking to that process, but it is reported. A home that other users could change is
 * only read.
 */
export async function settingsOf(
  { home, terminal, packageRoot }: Invocation,
  { unsafeNoSandbox, isOnlyLooking = false, isTold = true }: SettingsOptions = {},
): Promise<Settings> {
  const settings = await loadSettings({ home }, terminal.env, packageRoot, (root, error) => {
    const holder = liveHolder(root);
    if (!isOnlyLooking && holder?.url === undefined) throw error;
    const meanwhile = holder ? ` The running process (pid ${holder.pid}) still uses the last valid one.` : "";
    if (isTold) terminal.say(`${terminal.errPaint.yellow("!")} ${error.message}${meanwhile}`);
  });
  const there = await stat(settings.home).catch((error: unknown) => {
    if (codeOf(error) === "ENOTDIR") throw new HomeNotMadeError(settings.home, "ENOTDIR", error);
    return undefined;
  });
  if (there && !there.isDirectory())
    throw new UsageError(
      `The home ${settings.home} is a file, not a folder. Name a folder with --home or AGIRAPH_HOME.`,
    );
  const warn = (words: string) => isTold && terminal.say(`${terminal.errPaint.yellow("!")} ${words}`);
  for (const problem of settings.envProblems ?? []) warn(problem);
  if (!isOnlyLooking) for (const tightened of requireTrustedHome(settings.home, settings.env)) warn(tightened);
  else for (const problem of homeProblems(settings.home, settings.env)) warn(problem);
  return unsafeNoSandbox ? { ...settings, config: { ...settings.config, sandbox: { unsafe: true } } } : settings;
}

/** The file beside the lock says who took it last; only the lock itself tells whether they still hold it. */
export function liveHolder(home: string): HomeHolder | undefined {
  const holder = readHolder(nodeDisk, home);
  // One that has ended is not asked for by trying the lock: two who look at once would take each other for it.
  if (holder === undefined || holder.ended_ts !== undefined || !isAlive(holder.pid)) return undefined;
  // Also where somebody has deleted the lock's file under it.
  if (isRunning(holder)) return holder;
  const lock = nodeDisk.lock(lockFile(home));
  lock?.release();
  return lock === undefined ? holder : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** A home that does not exist counts as one without agents. */
export function noHomeYet(error: unknown): Look | undefined {
  if (error instanceof Error && error.name === "NotFoundError") return undefined;
  throw error;
}
