import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { ListedFile, Scope } from "../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import type { Workplace } from "./workplace.ts";

/**
 * Where one works, in a few lines, before the first turn: the day, what commands find, what the project holds. Computed
 * once, when a run or a node begins; a prompt must not change from turn to turn.
 */
export async function surroundingsOf(
  scope: Scope,
  { today, machine, now }: Pick<Workplace, "today" | "machine" | "now">,
  /** Whoever has no hands needs the date alone; a program has its own, with what is installed. */
  whose: "loop" | "program" | "nobody",
  aboutTheDay = "",
): Promise<string> {
  const date = `Today is ${today()}${aboutTheDay}.`;
  if (whose === "nobody") return date;
  const { project } = now().agent.created;
  const [commands, listing] = await Promise.all([machine(), project === null ? "" : projectLine(scope, project)]);
  return [date, commands[whose], listing].filter(Boolean).join("\n");
}

/** What commands find here, if it is known: for whoever calls `bash`, and for a program, which has a network of its own. */
export interface Machine {
  loop: string;
  program: string;
}

/** A day as people say it, with its zone: 2026-11-17, a Tuesday (Europe/Berlin). */
export function dayWords(ms: number, timeZone: string): string {
  const date = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(ms);
  const weekday = new Intl.DateTimeFormat("en-US", { timeZone, weekday: "long" }).format(ms);
  return `${date}, a ${weekday} (${timeZone})`;
}

const MOST_NAMES = 40;
const MOST_LISTED = 500;

async function projectLine(scope: Scope, project: string): Promise<string> {
  const top = await listed(scope, "project");
  if (top === undefined) return "";
  const shown = await Promise.all(top.entries.slice(0, MOST_NAMES).map((entry) => nameOf(entry, scope)));
  const rest = top.entries.length - shown.length;
  const more = rest > 0 ? `, and ${rest}${top.more ? "+" : ""} more` : "";
  const git = lstatSync(join(project, ".git"), { throwIfNoEntry: false })
    ? " It is a git repository; its history is not shown."
    : "";
  return `The project holds: ${shown.join(", ") || "nothing"}${more}.${git}`;
}

async function nameOf({ path, kind }: ListedFile, scope: Scope): Promise<string> {
  const name = path.slice("project/".length);
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
