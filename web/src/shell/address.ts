/** The current address. `at` is the fact at which everything is shown; null is now. */
export type PageRoute = { at: number | null } & (
  | { screen: "home" }
  | { screen: "entity"; agent: string; worker: string }
  | { screen: "board"; agent: string; node: string | null }
  /** What is changed in the repository: by one node, or in all. */
  | { screen: "changes"; agent: string; node: string | null }
  | { screen: "timeline" | "triggers"; agent: string }
  | { screen: "files" | "memory"; agent: string; path: string }
  /** A mesh of a project, by the agent that is the project's record; `member` is one of its agents. */
  | { screen: "mesh"; project: string; mesh: string; member: string | null }
);
export type PagePlace = PageRoute extends infer R ? (R extends PageRoute ? Omit<R, "at"> : never) : never;

const ROOT = "/ui";

export function pageRouteOf(pathname: string, search: string): PageRoute {
  const wanted = new URLSearchParams(search).get("at") ?? "";
  const at = /^[1-9]\d{0,14}$/.test(wanted) ? Number(wanted) : null;
  const [kind, agent, screen, ...rest] = pathname
    .slice(ROOT.length)
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  if (kind === "meshes" && agent && screen && [agent, screen].every((name) => /^[\w-]+$/.test(name)))
    return { screen: "mesh", project: agent, mesh: screen, member: rest[0] ?? null, at: null };
  if (kind !== "agents" || !agent || !/^[\w-]+$/.test(agent)) return { screen: "home", at: null };
  switch (screen) {
    case "board":
    case "changes":
      return { screen, agent, node: rest[0] ?? null, at };
    case "timeline":
    case "triggers":
      return { screen, agent, at };
    case "files":
    case "memory":
      return { screen, agent, path: rest.join("/"), at };
    case "workers":
      return { screen: "entity", agent, worker: rest[0] ?? "coordinator", at };
    default:
      return { screen: "entity", agent, worker: "coordinator", at };
  }
}

export function urlOf(place: PagePlace, at: number | null): string {
  const query = at === null || place.screen === "home" ? "" : `?at=${at}`;
  return `${ROOT}/${tailOf(place)}${query}`;
}

function tailOf(place: PagePlace): string {
  if (place.screen === "home") return "";
  if (place.screen === "mesh") {
    const mesh = `meshes/${place.project}/${place.mesh}`;
    return place.member === null ? mesh : `${mesh}/${encodeURIComponent(place.member)}`;
  }
  const agent = `agents/${place.agent}`;
  switch (place.screen) {
    case "entity":
      return place.worker === "coordinator" ? agent : `${agent}/workers/${encodeURIComponent(place.worker)}`;
    case "board":
    case "changes":
      return `${agent}/${place.screen}${place.node ? `/${place.node}` : ""}`;
    case "timeline":
    case "triggers":
      return `${agent}/${place.screen}`;
    default:
      return `${agent}/${place.screen}${place.path ? `/${place.path.split("/").map(encodeURIComponent).join("/")}` : ""}`;
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
