import type { Client, Tool as ListedTool } from "@modelcontextprotocol/client";

/** The tools that a server has, with what is kept of each. */
export async function listTools(client: Client, timeout: number): Promise<ListedTool[]> {
  const { tools } = await client.listTools(undefined, { timeout, cacheMode: "refresh" });
  return tools.map(({ name, title, description, inputSchema, annotations }) => ({
    name,
    inputSchema,
    ...(annotations && { annotations }),
    ...((description ?? title) && { description: (description ?? title ?? "").slice(0, MAX_DESCRIPTION) }),
  }));
}

/** Pages of a list of tools: who has more of them has more tools than a model finds. */
export const MAX_PAGES = 8;
/** Of a description, as it is kept; anyone who shows it cuts it again, and says so. */
const MAX_DESCRIPTION = 4_000;
