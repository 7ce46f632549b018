import { eventsPageSchema, eventsQuery } from "../../protocol/api/events.ts";
import { type Api, ofAgent, type RouteDeps, responses } from "../api-app.ts";

export function eventRoutes(app: Api, { agents }: RouteDeps): void {
  app.get(
    "/agents/:id/events",
    {
      schema: {
        summary: "What happened, fact by fact: after a number, or the newest",
        tags: ["events"],
        params: ofAgent,
        querystring: eventsQuery,
        response: responses(eventsPageSchema),
      },
    },
    async ({ params, query: { after, limit } }) => {
      const log = await agents.log(params.id);
      // Numbers have no gaps: the newest are those after the last but `limit`.
      const from = after ?? Math.max(0, (await agents.situation(params.id)).seq - limit);
      const events = await log.read({ after: from, limit });
      const last = events.at(-1);
      const isMore = after !== undefined && last !== undefined && events.length === limit;
      return { events, next_after: isMore ? last.seq : null };
    },
  );
}
