import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { own } from "../../protocol/dict.ts";
import type { ProgramProfile } from "../../protocol/index.ts";
import { INSTALLED_BY } from "../../workers/outside/programs.ts";

/** Why a program cannot be started here, and what to do; null if it can. */
export function missingFor(name: string, { kind, command }: ProgramProfile, path: string | undefined): string | null {
  if (kind === "mesh") return null;
  const [program = ""] = command;
  if (pathOf(program, path) !== undefined) return null;
  const how = own(INSTALLED_BY, name);
  return `The program ${name} is not installed: ${program} was not found. Install it${how ? ` (${how})` : ""}, say where it is in config.json (programs.${name}.command), or choose another.`;
}

/**
 * Another program, from PATH or from the package of this one: npm links what a package itself offers, and not what it
 * depends on (`codex` comes with `codex-acp`).
 */
export function broughtBy(program: string, other: string, path: string | undefined): string | undefined {
  const found = pathOf(other, path);
  const at = found === undefined ? pathOf(program, path) : undefined;
  if (at === undefined) return found;
  const real = realpathSync(at);
  for (let folder = dirname(real); folder !== dirname(folder); folder = dirname(folder)) {
    const place = join(folder, "node_modules/.bin", other);
    if (isExecutable(place)) return place;
  }
  return undefined;
}

function pathOf(program: string, path: string | undefined): string | undefined {
  const places = isAbsolute(program) ? [program] : (path ?? "").split(delimiter).map((folder) => join(folder, program));
  return places.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
