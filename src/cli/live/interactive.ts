import type { Invocation } from "../invocation.ts";
import { isForeground } from "../talk/keyboard.ts";
import type { Terminal } from "../terminal.ts";

/** Whether a person is there to be asked: at a keyboard that is ours, before a screen. */
export function isAttended({ json, terminal }: Pick<Invocation, "json" | "terminal">): boolean {
  return !json && terminal.stdin.isTTY === true && terminal.stderr.isTTY === true && isForeground();
}

/** Whether lines on the screen can be changed. */
export function isLive({ stderr, env }: Terminal): boolean {
  return stderr.isTTY === true && env.TERM !== "dumb";
}
