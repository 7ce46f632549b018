import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crashesDir } from "../paths.ts";

/** An uncaught error. */
export interface Crash {
  /** Milliseconds. */
  at: number;
  /** How it came to us: thrown, or a promise that nobody awaited. */
  origin: string;
  pid: number;
  command: string;
  /** The error with its stack and its causes. */
  text: string;
}

/** Records the error in `HOME/crashes/` and returns the file. Synchronous, since the process may be about to end. */
export function writeCrash(home: string, { at, origin, pid, command, text }: Crash): string {
  const dir = crashesDir(home);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const time = new Date(at).toISOString();
  const file = join(dir, `${time.replaceAll(":", "-")}-${pid}.txt`);
  const lines = [
    `time: ${time}`,
    `origin: ${origin}`,
    `pid: ${pid}`,
    `command: ${command}`,
    "",
    text.slice(0, LONGEST),
  ];
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  // Named by their time, so the oldest are first.
  for (const old of crashFiles(home).slice(0, -KEPT)) rmSync(old, { force: true });
  return file;
}

/** The files that are there, oldest first. */
export function crashFiles(home: string): string[] {
  try {
    const names = readdirSync(crashesDir(home)).filter((name) => name.endsWith(".txt"));
    return names.sort().map((name) => join(crashesDir(home), name));
  } catch {
    return [];
  }
}

const KEPT = 20;
const LONGEST = 64 * 1024;
