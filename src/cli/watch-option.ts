import { relative, resolve } from "node:path";
import { type Watched, watchedFrom, watchedSchema } from "../protocol/index.ts";
import { UsageError } from "./exit-code.ts";

/** `--watch`: an address, a path inside the project, or `cmd: …` for the output of a command. */
export function watchOption(text: string, project: string, cwd: string): Watched {
  const watched = watchedFrom(text);
  if (watched.path === undefined) return checked(watched, text);
  const inside = relative(project, resolve(cwd, text));
  if (inside.startsWith(".."))
    throw new UsageError(`--watch: ${text} is outside of ${project}, the folder that the team may read.`);
  return checked({ path: inside === "" ? "project" : `project/${inside}` }, text);
}

function checked(watched: Watched, text: string): Watched {
  const parsed = watchedSchema.safeParse(watched);
  if (parsed.success) return parsed.data;
  throw new UsageError(`--watch: "${text}" is not a URL, a path or "cmd: a command".`);
}
