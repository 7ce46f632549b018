import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { nearest } from "../models/nearest.ts";
import type { ProgramProfile, Usage } from "../protocol/index.ts";
import type { Sandbox } from "../sandbox/index.ts";
import type { OutsidePlace } from "../workers/outside/place.ts";
import { programsOf } from "../workers/outside/programs.ts";
import type { Settings } from "./settings.ts";

interface OutsidePorts {
  sandbox(): Promise<Sandbox>;
  price(model: string, usage: Usage): Promise<number | null>;
}

/** Programs that think for themselves, as this house has them. */
export function outsidePlace({ config, env }: Settings, { price }: OutsidePorts): OutsidePlace {
  const programs = programsOf(config);
  return {
    list: () =>
      Object.entries(programs).map(([name, profile]) => ({
        name,
        about: profile.about ?? profile.command.join(" "),
        missing: missingFor(name, profile, env.PATH),
      })),
    program(name) {
      const profile = Object.hasOwn(programs, name) ? programs[name] : undefined;
      if (!profile) throw new Error(unknown(name, Object.keys(programs)));
      const missing = missingFor(name, profile, env.PATH);
      if (missing !== null) throw new Error(missing);
      return profile;
    },
    async adapter(kind) {
      throw new Error(`There is no way yet to speak with ${kind}.`);
    },
    async start() {
      throw new Error("There is no sandbox for programs yet.");
    },
    // Programs name their models as their vendors do.
    price: (model, usage) => price(model.startsWith("claude") ? `anthropic/${model}` : model, usage).catch(() => null),
  };
}

function missingFor(name: string, { command }: ProgramProfile, path: string | undefined): string | null {
  const [program = ""] = command;
  const places = isAbsolute(program) ? [program] : (path ?? "").split(delimiter).map((folder) => join(folder, program));
  if (places.some(isExecutable)) return null;
  return `The program ${name} is not installed: ${program} was not found. Install it, say where it is in config.json (programs.${name}.command), or choose another.`;
}

function unknown(name: string, names: readonly string[]): string {
  const [near] = nearest(name, names, 1);
  return `There is no program "${name}".${near ? ` Did you mean ${near}?` : ""} There are: ${names.join(", ")}; others can be added in config.json (programs).`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
