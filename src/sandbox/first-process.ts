import { readFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";

/**
 * Identifies the processes in a pid namespace, from outside (Linux).
 *
 * INSIDE-1. The first process inside is dead only when all others inside are, including nested namespaces: the kernel
 *     kills and awaits them first.
 */
export interface FirstProcess {
  readonly pid: number;
  /** Tells it from another process that got the same number later. */
  readonly since: string;
}

/** The first process of the outermost namespace that this process holds; null while there is none. */
export function firstInside(holder: number): FirstProcess | null {
  const pid = childWithin(holder, 1);
  const since = pid === null ? undefined : statOf(pid)?.since;
  return pid === null || since === undefined ? null : { pid, since };
}

/**
 * The program itself: bubblewrap's first process starts nothing else. That process is the first of the outermost
 * namespace or, if that is one around bubblewrap, the first of the inner one.
 */
export function programInside(first: FirstProcess): number | null {
  return isAlive(first) ? childWithin(childWithin(first.pid, 1) ?? first.pid, 2) : null;
}

/** This exact process; null if there is none, or if it could not be told from a later one. */
export function thisProcess(pid: number): FirstProcess | null {
  const since = statOf(pid)?.since;
  return since === undefined ? null : { pid, since };
}

/** Resolves when nothing inside is alive, or after this time; returns whether everything is gone. */
export async function allGone(first: FirstProcess, mostMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  const began = performance.now();
  while (isAlive(first)) {
    if (performance.now() - began > mostMs) return false;
    await after(2);
  }
  return true;
}

function isAlive({ pid, since }: FirstProcess): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.since === since && !/[ZX]/.test(stat.state);
}

function childWithin(parent: number, innerPid: number): number | null {
  const children = read(`/proc/${parent}/task/${parent}/children`)?.split(" ").filter(Boolean) ?? [];
  const found = children.find((pid) => {
    const numbers = /^NSpid:\t(.*)$/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1]?.split("\t") ?? [];
    return numbers.length > 1 && Number(numbers.at(-1)) === innerPid;
  });
  return found === undefined ? null : Number(found);
}

function statOf(pid: number): { state: string; since: string } | undefined {
  // The name in brackets may hold anything, brackets too.
  const fields = read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, "")
    .split(" ");
  return fields?.[0] && fields[19] ? { state: fields[0], since: fields[19] } : undefined;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
