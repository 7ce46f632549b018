import { afterSeqQuery, eventsPageSchema } from "../../protocol/api.ts";
import { type Api, answers, ofAgent, type RouteDeps } from "../api-app.ts";

export function eventRoutes(app: Api, { agents }: RouteDeps): void {
  app.get(
    "/agents/:id/events",
    {
      schema: {
        summary: "What happened, fact by fact",
        tags: ["events"],
        params: ofAgent,
        querystring: afterSeqQuery,
        response: answers(eventsPageSchema),
      },
    },
    async ({ params, query: { after, limit } }) => {
      const log = await agents.log(params.id);
      const events = await log.read({ after, limit });
      const last = events.at(-1);
      return { events, next_after: last !== undefined && events.length === limit ? last.seq : null };
    },
  );
}
