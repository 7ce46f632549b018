import { triggerRecords } from "../../projections/index.ts";
import { triggersPageSchema } from "../../protocol/api/agents.ts";
import { afterIdQuery } from "../../protocol/api/page-query.ts";
import { type Api, ofAgent, pageOf, type RouteDeps, responses } from "../api-app.ts";

export function scheduleRoutes(app: Api, { agents }: RouteDeps): void {
  const tags = ["triggers"];

  app.get(
    "/agents/:id/triggers",
    {
      schema: {
        summary: "Triggers: first the active ones, then those that have ended",
        tags,
        params: ofAgent,
        querystring: afterIdQuery,
        response: responses(triggersPageSchema),
      },
    },
    async ({ params, query }) => {
      const { triggers, agent } = await agents.situation(params.id);
      const { items, next_after } = pageOf(triggerRecords(triggers, agent.id), query, ({ id }) => id);
      return { triggers: items, next_after };
    },
  );
}
