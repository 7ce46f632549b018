import type { Fact } from "../../protocol/index.ts";

/** What happened in a mesh, in one line. */
export function meshWordsOf(fact: Fact): string | undefined {
  switch (fact.type) {
    case "mesh.opened":
      return `${fact.data.mesh} (${fact.data.topology}): ${fact.data.agents.join(", ")}`;
    case "mesh.closed":
      return `${fact.data.mesh}: ${fact.data.why}`;
    case "mesh.received":
      return `${whose(fact.data)}: ${fact.data.type} from ${fact.data.from}: ${fact.data.title}`;
    case "mesh.activated":
    case "mesh.told":
      return `${whose(fact.data)}: ${fact.data.name}`;
    case "mesh.completed":
      return `${whose(fact.data)}: ${fact.data.name}: ${fact.data.gist}`;
    case "mesh.undelivered":
    case "mesh.failed":
    case "mesh.quarantined":
      return `${whose(fact.data)}: ${fact.data.name}: ${fact.data.why}`;
    case "mesh.gate":
      return `${fact.data.mesh}: ${fact.data.gate} ${fact.data.ok ? "passed" : `did not pass: ${fact.data.why}`}`;
    case "mesh.session":
      return `${whose(fact.data)}: ${fact.data.state}${fact.data.detail ? `: ${fact.data.detail}` : ""}`;
    case "mesh.stalled":
      return `${fact.data.mesh} cannot go on now: ${fact.data.why}`;
    case "mesh.reloaded":
      return `${fact.data.mesh}: ${fact.data.problem ?? "read again"}`;
    case "mesh.held":
      return `${fact.data.mesh} ${fact.data.changed ? "has changed and is not trusted" : "is not trusted"}: tx trust ${fact.data.mesh}`;
    case "mesh.trusted":
      return `${fact.data.mesh} is trusted${fact.data.terminals ? ", with terminals" : ""}`;
    default:
      return undefined;
  }
}

function whose({ mesh, agent }: { mesh: string; agent: string | null }): string {
  return agent === null ? mesh : `${mesh}/${agent}`;
}
