import type { FactType } from "../protocol/index.ts";
import { type Sentences, thing } from "./sentence.ts";

/** What happens in a mesh. */
export const MESH: Sentences<Extract<FactType, `mesh.${string}`>> = {
  "mesh.opened": ({ mesh, topology, agents }) =>
    thing(mesh, "is at work", { text: agents.join(", "), detail: topology, tone: "begins" }),
  "mesh.closed": ({ mesh, why }) => thing(mesh, "is closed", { text: why, isWhole: true, tone: "leaves" }),
  "mesh.received": (data) =>
    thing(whose(data), `got a message (${data.type}) from ${data.from}`, { text: data.title, tone: "new" }),
  "mesh.activated": (data) => thing(whose(data), `takes up ${data.name}`, { tone: "begins" }),
  "mesh.told": (data) => thing(whose(data), `was given ${data.name}`, { tone: "tells" }),
  "mesh.undelivered": (data) =>
    thing(whose(data), `could not be given ${data.name}`, { text: data.why, isWhole: true, tone: "warning" }),
  "mesh.completed": (data) => thing(whose(data), `finished ${data.name}`, { text: data.gist, tone: "done" }),
  "mesh.failed": (data) =>
    thing(whose(data), `failed at ${data.name}`, { text: data.why, isWhole: true, tone: "failed" }),
  "mesh.quarantined": (data) =>
    thing(whose(data), `set ${data.name} aside`, { text: data.why, isWhole: true, tone: "warning" }),
  "mesh.gate": ({ mesh, gate, ok, why }) =>
    ok
      ? thing(mesh, `passed the gate ${gate}`, { tone: "done" })
      : thing(mesh, `did not pass the gate ${gate}`, { text: why, isWhole: true, tone: "warning" }),
  "mesh.session": (data) =>
    thing(whose(data), `has a session that is ${data.state}`, {
      ...(data.detail !== undefined && { text: data.detail, isWhole: true }),
    }),
  "mesh.stalled": ({ mesh, why }) =>
    thing(mesh, "cannot continue for now", { text: why, isWhole: true, tone: "warning" }),
  "mesh.reloaded": ({ mesh, problem }) =>
    problem === null
      ? thing(mesh, "was read again", { tone: "new" })
      : thing(mesh, "cannot be used as it is declared", { text: problem, isWhole: true, tone: "warning" }),
  "mesh.held": ({ mesh, changed }) =>
    thing(mesh, `${changed ? "has changed and is no longer trusted" : "is not trusted yet"}, so none of it runs`, {
      detail: `tx trust ${mesh}`,
      tone: "warning",
    }),
  "mesh.trusted": ({ mesh, terminals }) =>
    thing(mesh, `is trusted${terminals ? ", with terminals" : ""}`, { tone: "done" }),
};

function whose({ mesh, agent }: { mesh: string; agent: string | null }): string {
  return agent === null ? mesh : `${mesh}/${agent}`;
}
