import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { codeOf } from "../disk/disk.ts";
import { StoreError } from "../errors.ts";

/**
 * Checks whether other users of the machine could change what this home makes us do, as ssh does for its own files
 * (StrictModes). config.json names programs that are started, extensions are run, .env and token hold secrets, prompts
 * are followed.
 *
 * MODES-1. The home and what is trusted in it belong to us or to root, and nobody else may write to them.
 * MODES-2. Nobody else may replace the home by another folder: neither in a folder above it, nor by a symlink.
 * MODES-3. Only the owner may read .env and token: they are set to 0600, or the home is refused.
 */
export class UntrustedHome extends StoreError {
  override readonly name = "UntrustedHome";
  constructor(home: string, problems: readonly string[]) {
    super(
      [
        `The home ${home} is not safe from other users of this machine. They could run programs as you, or read your keys.`,
        ...problems.map((problem) => `- ${problem}`),
        "Check config.json, .env, prompts/ and extensions/ for changes that are not yours first. If this file system has no permissions of its own, or you trust everyone who can write there, set AGIRAPH_TRUST_HOME_MODES=1 in the environment.",
      ].join("\n"),
    );
  }
}

/** Refuses a home that others could change; returns what was tightened, in words. */
export function requireTrustedHome(home: string, env: Environment): string[] {
  if (isTrusted(env)) return [];
  const problems = homeProblems(home, env);
  if (problems.length > 0) throw new UntrustedHome(home, problems);
  const { tightened, open } = closeSecrets(home);
  if (open.length > 0) throw new UntrustedHome(home, open);
  return tightened;
}

/** What others could change, each with what to do about it. Read-only. */
export function homeProblems(home: string, env: Environment): string[] {
  if (isTrusted(env)) return [];
  const found = new Map<string, string>();
  judge(home, found);
  for (const name of trusted) judge(join(home, name), found);
  for (const folder of ["prompts", "extensions"])
    for (const name of namesIn(join(home, folder))) judge(join(home, folder, name), found);
  return [...found.values()];
}

/** The same for a trusted file outside the home, such as an extension that config.json names. */
export function pathProblems(path: string, env: Environment): string[] {
  if (isTrusted(env)) return [];
  const found = new Map<string, string>();
  judge(path, found);
  return [...found.values()];
}

type Environment = Readonly<Record<string, string | undefined>>;

const trusted = [
  ...["config.json", ".env", "prompts", "extensions", "trust.json", "token"],
  ...["VERSION", "home.lock.json", "agents", "journal", "machine.json"],
];
const secret = [".env", "token"];

/** Where there are no users and modes (Windows), there is nothing to judge. */
function isTrusted(env: Environment): boolean {
  return process.getuid === undefined || env.AGIRAPH_TRUST_HOME_MODES === "1";
}

/** Looks at every folder and symlink on the way to a path, and at what is there. */
function judge(path: string, found: Map<string, string>): void {
  const { way, end } = wayTo(path);
  for (const { at, stat } of way) {
    // In a sticky folder others cannot rename or remove what is ours.
    const isProblem = stat.isSymbolicLink() ? !isOurs(stat) : (stat.mode & STICKY) === 0 && writers(stat) !== null;
    if (isProblem && !found.has(at)) found.set(at, words(at, stat));
  }
  if (end && (!isOurs(end.stat) || writers(end.stat) !== null)) found.set(end.at, words(end.at, end.stat));
}

interface Step {
  at: string;
  stat: Stats;
}

const STICKY = 0o1000;
const MOST_LINKS = 40;

/** As the kernel goes, name by name; `end` is missing where nothing is there. */
function wayTo(path: string): { way: Step[]; end?: Step } {
  const way: Step[] = [];
  let links = 0;
  let at: string = sep;
  let rest = names(resolve(path));
  for (;;) {
    const stat = lookAt(at);
    if (!stat) return { way };
    const isLink = stat.isSymbolicLink();
    if (!isLink && rest.length === 0) return { way, end: { at, stat } };
    way.push({ at, stat });
    if (isLink) {
      if (++links > MOST_LINKS) return { way };
      [at, rest] = [sep, [...names(resolve(dirname(at), readlinkSync(at))), ...rest]];
    } else {
      const [name = "", ...more] = rest;
      [at, rest] = [join(at, name), more];
    }
  }
}

/** What may not be looked at, or lies below a file, is refused when it is opened. */
function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (["EACCES", "ENOTDIR"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}

const names = (path: string) => path.split(sep).filter(Boolean);

function isOurs({ uid }: Stats): boolean {
  return uid === 0 || uid === process.getuid?.();
}

function writers(stat: Stats): "everyone" | "its group" | null {
  if ((stat.mode & 0o002) !== 0) return "everyone";
  return (stat.mode & 0o020) !== 0 && !isPrivateGroup(stat.gid) ? "its group" : null;
}

/** Many systems give every user a group of their own, and new files are writable by it (umask 002). */
function isPrivateGroup(gid: number): boolean {
  const [uid, rows] = [process.getuid?.(), (file: string) => linesOf(file).map((line) => line.split(":"))];
  const users = rows("/etc/passwd");
  const us = users.find((user) => Number(user[2]) === uid)?.[0];
  const group = rows("/etc/group").find((row) => row[0] !== "" && row[2] === String(gid));
  if (gid === 0 || us === undefined || group === undefined) return false;
  const members = [
    ...(group[3] ?? "").split(",").filter(Boolean),
    ...users.flatMap(([name = "", , , own]) => (own === String(gid) ? [name] : [])),
  ];
  return members.length > 0 && members.every((member) => member === us);
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}

function words(at: string, stat: Stats): string {
  const who = writers(stat);
  const isLink = stat.isSymbolicLink();
  if (!isOurs(stat) && (isLink || who === null))
    return `${at} belongs to another user (uid ${stat.uid}). Use a home of your own, or take it over: chown ${isLink ? "-h " : ""}${process.getuid?.()} ${at}`;
  return `${at} can be written by ${who} (mode ${modeOf(stat)}). Run: chmod go-w ${at}`;
}

const modeOf = ({ mode }: Stats) => (mode & 0o7777).toString(8).padStart(4, "0");

function closeSecrets(home: string): { tightened: string[]; open: string[] } {
  const tightened: string[] = [];
  const open: string[] = [];
  for (const name of secret) {
    const file = join(home, name);
    const before = statSync(file, { throwIfNoEntry: false });
    if (!before?.isFile() || (before.mode & 0o077) === 0) continue;
    const words = `${file} could be read by other users (mode ${modeOf(before)})`;
    if (canClose(file)) tightened.push(`${words}; it is 0600 now.`);
    else open.push(`${words}, and its mode cannot be changed. Run as its owner: chmod 600 ${file}`);
  }
  return { tightened, open };
}

function canClose(file: string): boolean {
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    if (!["EPERM", "EACCES", "EROFS", "ENOTSUP"].includes(codeOf(error) ?? "")) throw error;
  }
  return (statSync(file).mode & 0o077) === 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
