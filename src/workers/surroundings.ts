import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Situation } from "../projections/index.ts";
import type { ListedFile, Scope } from "../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { dayIn } from "../triggers/wall-clock.ts";

/**
 * Where a worker works, in a few lines, before the first turn: the day, what commands find, what the project holds. Computed
 * once, when a run or a node begins; a prompt must not change from turn to turn.
 */
export async function surroundingsOf(
  scope: Scope,
  { today, machine, now }: SurroundingsPorts,
  /** A model without tools ("nobody") needs the date alone. */
  whose: "loop" | "program" | "nobody",
  aboutTheDay = "",
): Promise<string> {
  const date = `Today is ${today()}${aboutTheDay}.`;
  if (whose === "nobody") return date;
  const { project } = now().agent.created;
  const [commands, listing] = await Promise.all([machine(), project === null ? "" : projectLine(scope, project)]);
  return [date, commands[whose], listing].filter(Boolean).join("\n");
}

export interface SurroundingsPorts {
  /** The day, with its weekday and zone. */
  today(): string;
  /** What commands find here, if it is known by now. It never takes longer than a moment. */
  machine(): Promise<Machine>;
  now(): Situation;
}

/** What commands find on this machine: for a model that calls `bash`, and for a program, which has its own network. */
export interface Machine {
  loop: string;
  program: string;
}

/** A day as people say it, with its zone: 2026-11-17, a Tuesday (Europe/Berlin). */
export function dayWords(ms: number, timeZone: string): string {
  const { date, weekday } = dayIn(ms, timeZone);
  return `${date}, a ${weekday} (${timeZone})`;
}

const MOST_NAMES = 40;
const MOST_LISTED = 500;

/** By what name a scope has the project: a worker's clone of it, or the person's folder. */
export function projectFolder({ named }: Pick<Scope, "named">): "repo" | "project" {
  return named?.PROJECT === undefined ? "project" : "repo";
}

async function projectLine(scope: Scope, project: string): Promise<string> {
  const folder = projectFolder(scope);
  const top = await listed(scope, folder);
  if (top === undefined) return "";
  const entries = top.entries.filter(({ path }) => path !== "repo/.git");
  const shown = await Promise.all(entries.slice(0, MOST_NAMES).map((entry) => nameOf(entry, scope, folder)));
  const rest = entries.length - shown.length;
  if (folder === "repo")
    return `The repository holds: ${shown.join(", ") || "nothing"}${rest > 0 ? `, and ${rest}${top.more ? "+" : ""} more` : ""}.`;
  const more = rest > 0 ? `, and ${rest}${top.more ? "+" : ""} more` : "";
  const git = lstatSync(join(project, ".git"), { throwIfNoEntry: false })
    ? " It is a git repository; its history is not shown."
    : "";
  return `The project holds: ${shown.join(", ") || "nothing"}${more}.${git}`;
}

async function nameOf({ path, kind }: ListedFile, scope: Scope, folder: string): Promise<string> {
  const name = path.slice(folder.length + 1);
  if (kind !== "folder") return name;
  const inside = await listed(scope, path);
  return inside === undefined ? `${name}/` : `${name}/ (${inside.entries.length}${inside.more ? "+" : ""})`;
}

async function listed(scope: Scope, path: string) {
  try {
    return await scope.list(path, { limit: MOST_LISTED });
  } catch (error) {
    if (error instanceof ScopeRefusal || error instanceof FileNotFound) return undefined;
    throw error;
  }
}
