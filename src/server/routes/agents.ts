import { type AgentSummary, agentDetailSchema, agentsPageSchema, agentsQuery } from "../../protocol/api/agents.ts";
import { runFiles } from "../../store/run/results.ts";
import { type Api, ofAgent, pageOf, type RouteDeps, responses } from "../api-app.ts";

export function agentRoutes(app: Api, { agents }: RouteDeps): void {
  app.get(
    "/agents",
    {
      schema: {
        summary: "All agents, newest first",
        tags: ["agents"],
        querystring: agentsQuery,
        response: responses(agentsPageSchema),
      },
    },
    async ({ query }) => {
      const { agents: all, unreadable } = await agents.summaries();
      // The one that a page ended with may have been archived since: the next page still begins after it.
      const isWanted = ({ id, archived }: AgentSummary) =>
        id === query.after || query.archived === "all" || archived === (query.archived === "true");
      const { items, next_after } = pageOf(all.filter(isWanted), query, ({ id }) => id);
      return { agents: items, unreadable, next_after };
    },
  );

  app.get(
    "/agents/:id",
    {
      schema: {
        summary: "How an agent is doing",
        tags: ["agents"],
        params: ofAgent,
        response: responses(agentDetailSchema),
      },
    },
    async ({ params }) => {
      const { dir } = await agents.log(params.id);
      const now = await agents.situation(params.id);
      const { results } = await runFiles(now, dir);
      const inWorkspace = results.map((file) => ({ ...file, path: `runs/${now.agent.run?.id}/${file.path}` }));
      return { ...(await agents.summary(params.id)), results: inWorkspace };
    },
  );
}
