import { isWriting } from "../changes/writes.ts";
import { steering } from "../entity/steering.ts";
import { agents } from "../live/agents.ts";
import { give, type ListedWorker, type MeshProjectView } from "../live/api.ts";
import { firstLine } from "../text/figures.ts";
import { folderOf, visible } from "../text/visible.ts";
import { complain, openOverlay } from "./overlay.ts";
import type { Findable } from "./rank.ts";
import { go, type PagePlace, recentAddresses, routeNow, urlOf } from "./route.ts";
import { switchTheme } from "./theme.ts";

export interface PaletteEntry extends Findable {
  /** No two have the same. */
  key: string;
  /** Of a place, by which it is known that one has been there. */
  address: string | null;
  run: () => void;
}

const SCREENS = ["board", "changes", "timeline", "files", "memory", "triggers"] as const;

/**
 * Everything that one can go to or do: recent places, what is near, and then the rest. The workers of agents that are
 * not open come from the list of all.
 */
export function entries(workers: readonly ListedWorker[]): PaletteEntry[] {
  const route = routeNow();
  const here = "agent" in route ? route.agent : null;
  const { list, meshes } = agents;
  const others = list.filter(({ id }) => id !== here);
  const near = here === null ? [] : [...teamOf(here), ...screensOf(here, nameOf(here))];
  const known = new Set(near.map(({ key }) => key));
  const all = [
    ...near,
    ...list.map(({ id, name }) => to("agent", name, { screen: "entity", agent: id, worker: "coordinator" })),
    ...meshes.flatMap(meshesOf),
    ...actions(here, route.at),
    to("screen", "All agents", { screen: "home" }),
    ...(here === null ? [] : [...nodesOf(here), ...filesOf(here)]),
    ...workers
      .map(({ id, name, agent }) => to("worker", name, { screen: "entity", agent: agent.id, worker: id }, agent.name))
      .filter(({ key }) => !known.has(key)),
    ...others.flatMap(({ id, name }) => screensOf(id, name)),
    ...others.flatMap((agent) => steers({ ...agent, created: agent, outcome: null })),
  ];
  return recentFirst(all, urlOf(route, null));
}

/** Where one is already comes last: it need not be gone to. */
function recentFirst(all: PaletteEntry[], here: string): PaletteEntry[] {
  const byAddress = Map.groupBy(all, ({ address }) => address);
  const recent = recentAddresses().flatMap((address) => (address === here ? [] : (byAddress.get(address) ?? [])));
  const known = new Set([here, ...recent.map(({ address }) => address)]);
  return [...recent, ...all.filter(({ address }) => !known.has(address)), ...(byAddress.get(here) ?? [])];
}

function to(kind: string, text: string, place: PagePlace, of = ""): PaletteEntry {
  const address = urlOf(place, null);
  // An agent and its coordinator are one place, and two things to look for.
  return { key: `${kind} ${address}`, address, kind, text, of, run: () => go(place) };
}

function act(text: string, run: () => void, key = text): PaletteEntry {
  return { key, address: null, kind: "action", text, of: "", run };
}

function nameOf(agent: string): string {
  return agents.list.find(({ id }) => id === agent)?.name ?? agent;
}

function teamOf(agent: string): PaletteEntry[] {
  const workers = Object.values(agents.feed(agent).situation?.roster ?? {});
  return workers.map(({ id, spawned }) =>
    to("worker", spawned.name, { screen: "entity", agent, worker: id }, nameOf(agent)),
  );
}

function nodesOf(agent: string): PaletteEntry[] {
  return Object.values(agents.feed(agent).situation?.board.nodes ?? {}).map(({ id, spec }) =>
    to("node", `${id} · ${firstLine(spec.task)}`, { screen: "board", agent, node: id }, nameOf(agent)),
  );
}

/** What the team has published. */
function filesOf(agent: string): PaletteEntry[] {
  return Object.values(agents.feed(agent).situation?.board.nodes ?? {}).flatMap((node) =>
    "files" in node
      ? node.files.map(({ path }) => {
          const whole = `runs/${node.spec.run_id}/nodes/${node.id}/published/${path}`;
          return to("file", visible(path), { screen: "files", agent, path: whole }, node.id);
        })
      : [],
  );
}

function screensOf(agent: string, name: string): PaletteEntry[] {
  const { situation } = agents.feed(agent);
  const writes = situation !== null && isWriting(situation);
  return SCREENS.filter((screen) => screen !== "changes" || writes).map((screen) => {
    const place: PagePlace =
      screen === "board" || screen === "changes"
        ? { screen, agent, node: null }
        : screen === "files" || screen === "memory"
          ? { screen, agent, path: "" }
          : { screen, agent };
    return to("screen", screen.charAt(0).toUpperCase() + screen.slice(1), place, name);
  });
}

/** Declared teams and who is in them; and all of a project, to be begun or ended. */
function meshesOf({ id, project, status, meshes }: MeshProjectView): PaletteEntry[] {
  const folder = folderOf(project);
  const mind = (promise: Promise<unknown>) => void promise.then(() => agents.refresh(), complain);
  return [
    ...meshes.flatMap(({ mesh, agents: ofMesh }) => [
      to("mesh", mesh, { screen: "mesh", project: id, mesh, member: null }, folder),
      ...ofMesh.map(({ name }) =>
        to("mesh agent", name, { screen: "mesh", project: id, mesh, member: name }, `${mesh} · ${folder}`),
      ),
    ]),
    status === "working" || status === "waiting_for_human"
      ? act(`Stop the meshes of ${folder}`, () => mind(give({ do: "stop_meshes", id })), `meshes ${id}`)
      : act(`Start the meshes of ${folder}`, () => mind(give({ do: "start_meshes", project })), `meshes ${id}`),
  ];
}

function actions(here: string | null, at: number | null): PaletteEntry[] {
  const now = here === null || at !== null ? undefined : agents.feed(here).situation?.agent;
  return [
    ...(now ? steers(now) : []),
    act("New agent", () => openOverlay("new_agent")),
    act("Light or dark theme", switchTheme),
    act("Keyboard shortcuts", () => openOverlay("shortcuts")),
  ];
}

function steers(agent: Parameters<typeof steering>[0]): PaletteEntry[] {
  return steering(agent).map(({ label, run }) => act(`${label} ${agent.created.name}`, run, `${label} ${agent.id}`));
}
