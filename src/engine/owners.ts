import { z } from "zod";
import type { AgentId } from "../protocol/index.ts";
import type { Queries } from "./database.ts";
import { HOST_PATIENCE } from "./host.ts";

/** Another host that has an agent now. */
export interface Owner {
  id: string;
  name: string;
}

/** Who else has this agent; undefined where nobody has it, or only a host that is gone, or this one. */
export async function otherOwnerOf(queries: Queries, id: AgentId, self: string): Promise<Owner | undefined> {
  const rows = await queries.query(
    `select host as id, name from trees join hosts on host = owner
     where tree = $1 and host <> $2 and beat >= clock_timestamp() - $3::interval`,
    [`agents/${id}`, self, HOST_PATIENCE],
  );
  return ownerRows.parse(rows)[0];
}

const ownerRows = z.array(z.object({ id: z.uuid(), name: z.string() }));
