import { NotFoundError } from "../../store/errors.ts";
import { isAgentId } from "../../store/paths.ts";
import type { AgentLog, Store } from "../../store/store.ts";
import { HumanRefusal } from "../human/human-refusal.ts";

/** The log of the agent with this id, whatever it looks like; or "not found". */
export async function existingAgent(store: Pick<Store, "open">, id: string): Promise<AgentLog> {
  if (!isAgentId(id)) throw noAgent(id.slice(0, 80));
  const log = await store.open(id).catch((error: unknown) => {
    // Whatever else went wrong does not mean that it is not there.
    if (error instanceof NotFoundError) return undefined;
    throw error;
  });
  // A folder without facts is what a crash left of an agent that nobody was told about.
  if (!log || log.seq === 0) throw noAgent(id);
  return log;
}

function noAgent(id: string): HumanRefusal {
  return new HumanRefusal(
    "not_found",
    `There is no agent "${id}". GET /agents and \`agiraph ls\` list those that exist.`,
  );
}
