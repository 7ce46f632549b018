import { copySchema } from "../../protocol/api/agents.ts";
import type { Hosting } from "../../runtime/hosting.ts";
import { isAgentId } from "../../store/paths.ts";
import { type Api, ofAgent, type RouteDeps, responses } from "../api-app.ts";

/** Of a server that works from an engine, together with other hosts. */
export function hostRoutes(app: Api, { agents, runtime }: RouteDeps, hosting: Hosting): void {
  app.post(
    "/copies/:id",
    { schema: { hide: true, params: ofAgent, response: responses(copySchema) } },
    async ({ params: { id } }) => {
      const isElsewhere = isAgentId(id) && !runtime.opened(id) && (await hosting.ownerOf(id)) !== undefined;
      if (isElsewhere) await hosting.copy(id);
      // Opened here, it is as the engine has it.
      else await agents.agent(id);
      return { id };
    },
  );
}
