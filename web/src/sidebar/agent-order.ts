import type { CreateAgent } from "../../../src/protocol/commands.ts";
import { DURATION_HELP, secondsIn } from "../../../src/protocol/duration.ts";
import { type Watched, watchedFrom } from "../../../src/protocol/index.ts";
import type { Models } from "../live/api.ts";

/** The problem of each field, by the server's field names. */
type Problems = Readonly<Record<string, string>>;

/**
 * The order for a new agent from the form, or its problems before the server is asked. `said` returns a field's text.
 */
export function orderOf(said: (name: string) => string): { order: CreateAgent } | { problems: Problems } {
  const isInfinite = said("mode") === "infinite";
  const project = said("project");
  const writes = said("write") !== "";
  const every = isInfinite ? said("cycle_seconds") : "";
  const watch = isInfinite && said("watch") !== "" ? watchIn(said("watch"), project) : undefined;
  const seconds = secondsIn(every.replaceAll(" ", ""));
  const problems = {
    ...(every !== "" && seconds === undefined && { cycle_seconds: DURATION_HELP }),
    ...(typeof watch === "string" && { watch }),
  };
  if (typeof watch === "string" || Object.keys(problems).length > 0) return { problems };
  const tools = said("tools")
    .split(/[\s,]+/)
    .filter(Boolean);
  return {
    order: {
      goal: said("goal"),
      mode: isInfinite ? "infinite" : "finite",
      ...(said("name") && { name: said("name") }),
      ...(said("model") && { model: said("model") }),
      ...(said("worker_model") && { worker_model: said("worker_model") }),
      ...(said("budget_usd") && { budget_usd: Number(said("budget_usd")) }),
      ...(project && { project }),
      // Said either way: the box shows what config.json has, and what is seen there is what holds.
      ...((project || writes) && { write: writes }),
      ...(seconds !== undefined && { cycle_seconds: seconds }),
      ...(watch && { watch }),
      ...(tools.length > 0 && { tools }),
    },
  };
}

/** Whether config.json has new agents change the repository in a folder: what it says of the nearest folder holds. */
export function mayWriteIn(projects: Models["projects"], folder: string): boolean {
  const path = `${folder.trim().replace(/\/+$/, "")}/`;
  const above = projects.filter((each) => path.startsWith(`${each.folder.replace(/\/+$/, "")}/`));
  return above.sort((a, b) => b.folder.length - a.folder.length)[0]?.write ?? false;
}

/** A path is one of the folder that the team may read, which is called `project/` in its workspace. */
function watchIn(typed: string, project: string): Watched | string {
  const watched = watchedFrom(typed);
  if (watched.path === undefined) return watched;
  if (project === "") return "To watch a path, name the folder it may read, or give an address instead.";
  const folder = project.replace(/\/+$/, "");
  const isInside = typed === folder || typed.startsWith(`${folder}/`);
  if (!isInside && (typed.startsWith("/") || typed.split("/").includes("..")))
    return `${typed} is outside ${project}, the folder it may read.`;
  const inside = (isInside ? typed.slice(folder.length) : typed).replace(/^(\.?\/)+|^\.$/, "");
  return { path: inside === "" ? "project" : `project/${inside}` };
}
