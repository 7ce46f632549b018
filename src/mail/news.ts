import { describeBoard, type Situation } from "../projections/index.ts";
import { COORDINATOR, type Fact } from "../protocol/index.ts";

/** What this fact has to tell this reader, in words, or nothing. Pure: mail is a reading of the log. */
export function newsFor(reader: string, fact: Fact, now: Situation): string | undefined {
  if (fact.type === "message.sent" && (fact.data.to === reader || fact.data.to === "*") && fact.data.from !== reader) {
    return `[Message from ${fact.data.from}]: ${fact.data.preview}`;
  }
  return reader === COORDINATOR ? newsOfTheTeam(fact, now) : undefined;
}

function newsOfTheTeam(fact: Fact, now: Situation): string | undefined {
  switch (fact.type) {
    case "node.completed": {
      const node = now.board.nodes[fact.data.node_id];
      const files = node && "files" in node ? node.files : [];
      const list = files.map((file) => `nodes/${fact.data.node_id}/published/${file.path}`).join(", ");
      const name = now.roster[fact.data.worker_id]?.spawned.name ?? fact.data.worker_id;
      return `${fact.data.node_id} completed by ${name}: ${fact.data.summary}${list ? `\nPublished: ${list}` : ""}`;
    }
    case "node.failed": {
      const { outcome } = fact.data;
      const why = outcome.kind === "failed" ? outcome.error : outcome.kind.replace("_", " ");
      return `${fact.data.node_id} failed: ${why}. Its unfinished files are in nodes/${fact.data.node_id}/scratch/.`;
    }
    // Told the state of the board, so that it does not go by what it remembers of it.
    case "agent.resumed":
      return `Your human stopped the work and has now resumed it. The board as it is:\n${describeBoard(now.board)}\nGo on.`;
    default:
      return undefined;
  }
}
