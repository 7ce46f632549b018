import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { own } from "../../protocol/dict.ts";
import type { ProgramProfile } from "../../protocol/index.ts";
import { INSTALLED_BY } from "../../workers/outside/programs.ts";

/** Why a program cannot be started here, and what to do; null if it can. */
export function missingFor(name: string, { kind, command }: ProgramProfile, path: string | undefined): string | null {
  if (kind === "mesh") return null;
  const [program = ""] = command;
  const places = isAbsolute(program) ? [program] : (path ?? "").split(delimiter).map((folder) => join(folder, program));
  if (places.some(isExecutable)) return null;
  const how = own(INSTALLED_BY, name);
  return `The program ${name} is not installed: ${program} was not found. Install it${how ? ` (${how})` : ""}, say where it is in config.json (programs.${name}.command), or choose another.`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
