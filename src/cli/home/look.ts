import { stat } from "node:fs/promises";
import type { Situation } from "../../projections/index.ts";
import { loadSettings, type Settings } from "../../runtime/config/settings.ts";
import { lookAtAll } from "../../runtime/views/agent-list.ts";
import { findAmong } from "../../runtime/views/find-agent.ts";
import { codeOf } from "../../store/disk/disk.ts";
import { HomeNotMadeError } from "../../store/errors.ts";
import type { HomeHolder } from "../../store/home/home.ts";
import { homeProblems, requireTrustedHome } from "../../store/home/home-modes.ts";
import { openStore } from "../../store/open-store.ts";
import type { AgentLog, Store } from "../../store/store.ts";
import { Refusal, UsageError } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { liveHolder } from "./live-holder.ts";

/** A read-only view of a home, in which another process may be working. */
export interface Look {
  settings: Settings;
  store: Store;
  /** The process that works in this home now. */
  holder: HomeHolder | undefined;
  /** All agents; those whose logs cannot be folded within the given bytes are preliminary. */
  agents(bytes?: number): ReturnType<typeof lookAtAll>;
}

export async function lookAt(call: Invocation): Promise<Look> {
  const settings = await settingsOf(call, { isOnlyLooking: true });
  const store = await openStore({ root: settings.home, clock: { now: Date.now }, readOnly: true });
  const holder = liveHolder(settings.home);
  if (!holder?.engine) return { settings, store, holder, agents: (bytes) => lookAtAll(store, bytes) };
  // Only the server of a working copy knows what other hosts have.
  const { lookAtEngine } = await import("./look-engine.ts");
  return { settings, store, holder, agents: () => lookAtEngine(settings, store) };
}

export async function lookAtAgent(call: Invocation, word: string): Promise<Look & { now: Situation; log: AgentLog }> {
  const look = await lookAt(call);
  const now = await findAmong((await look.agents(0)).agents, word);
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

/** A home that does not exist counts as one without agents. */
export function noHomeYet(error: unknown): Look | undefined {
  if (error instanceof Error && error.name === "NotFoundError") return undefined;
  throw error;
}
