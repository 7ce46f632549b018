import { readFileSync } from "node:fs";
import type { Invocation } from "../invocation.ts";
import type { Terminal } from "../terminal.ts";

/** Whether a person can be asked: the keyboard is ours and there is a screen. */
export function isAttended({ json, terminal }: Pick<Invocation, "json" | "terminal">): boolean {
  return !json && terminal.stdin.isTTY === true && terminal.stderr.isTTY === true && isForeground();
}

/** Whether lines on the screen can be redrawn. */
export function isLive({ stderr, env }: Terminal): boolean {
  return stderr.isTTY === true && env.TERM !== "dumb";
}

/** Whether we are in the foreground. Only Linux tells without running another program; elsewhere we assume so. */
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
