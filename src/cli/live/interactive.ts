import { readFileSync } from "node:fs";
import type { Invocation } from "../invocation.ts";
import type { Terminal } from "../terminal.ts";

/** Whether a person is there to be asked: at a keyboard that is ours, before a screen. */
export function isAttended({ json, terminal }: Pick<Invocation, "json" | "terminal">): boolean {
  return !json && terminal.stdin.isTTY === true && terminal.stderr.isTTY === true && isForeground();
}

/** Whether lines on the screen can be changed. */
export function isLive({ stderr, env }: Terminal): boolean {
  return stderr.isTTY === true && env.TERM !== "dumb";
}

/** Whether the keyboard is ours. Only Linux tells without asking another program; elsewhere it is taken to be. */
export function isForeground(): boolean {
  if (process.platform !== "linux") return true;
  try {
    // After the name, which may hold anything: state, parent, group, session, terminal, the terminal's group.
    const [, , group, , , owner] = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return group === owner;
  } catch {
    return true;
  }
}
