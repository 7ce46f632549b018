import type { RecentMessage, Situation } from "../../projections/index.ts";
import { messageIn } from "../../projections/index.ts";
import { afterIdQuery, beforeSeqQuery } from "../../protocol/api/page-query.ts";
import {
  conversationPageSchema,
  inboxPageSchema,
  permissionsPageSchema,
  questionsPageSchema,
} from "../../protocol/api/speech.ts";
import type { AgentLog } from "../../store/store.ts";
import { type Api, ofAgent, pageOf, type RouteDeps, responses } from "../api-app.ts";

const tags = ["conversation"];

export function speechRoutes(app: Api, { agents }: RouteDeps): void {
  questionRoutes(app, agents);
  conversationRoutes(app, agents);
}

function questionRoutes(app: Api, agents: RouteDeps["agents"]): void {
  app.get(
    "/agents/:id/permissions",
    {
      schema: {
        summary: "What programs of the agent may always do in this run",
        tags,
        params: ofAgent,
        response: responses(permissionsPageSchema),
      },
    },
    async ({ params }) => {
      const { outside } = await agents.situation(params.id);
      const permissions = Object.entries(outside.permitted).flatMap(([worker_id, list]) =>
        list.map((permission) => ({ worker_id, ...permission })),
      );
      return { permissions };
    },
  );

  app.get(
    "/agents/:id/questions",
    {
      schema: {
        summary: "Open questions: who asks, since when",
        tags,
        params: ofAgent,
        querystring: afterIdQuery,
        response: responses(questionsPageSchema),
      },
    },
    async ({ params, query }) => {
      const { questions, roster } = await agents.situation(params.id);
      const { items, next_after } = pageOf(Object.values(questions.open), query, ({ id }) => id);
      return {
        questions: items.map((each) => ({
          id: each.id,
          worker_id: each.worker_id,
          worker_name: roster[each.worker_id]?.spawned.name ?? each.worker_id,
          node_id: each.node_id,
          text: each.text,
          choices: each.choices ?? [],
          asked_at: each.asked_ts,
          deadline: each.deadline_ts ?? null,
          default: each.default ?? null,
          ...(each.permission && { permission: true }),
        })),
        next_after,
      };
    },
  );
}

function conversationRoutes(app: Api, agents: RouteDeps["agents"]): void {
  app.get(
    "/agents/:id/conversation",
    {
      schema: {
        summary: "Messages between the human, the coordinator and the workers",
        tags,
        params: ofAgent,
        querystring: beforeSeqQuery,
        response: responses(conversationPageSchema),
      },
    },
    async ({ params, query }) => saidBefore(await agents.log(params.id), await agents.situation(params.id), query),
  );

  app.get(
    "/inbox",
    {
      schema: {
        summary: "What waits for the human, over all agents",
        tags,
        querystring: afterIdQuery,
        response: responses(inboxPageSchema),
      },
    },
    async ({ query }) => {
      const { items, next_after } = pageOf(await agents.inbox(), query, ({ agent, id }) => `${agent.id}/${id}`);
      return { items: items.map((item) => ({ ...item, choices: [...item.choices] })), next_after };
    },
  );
}

const FACTS_AT_ONCE = 2000;

/** The newest messages are in the fold; earlier ones are read backwards from the log. */
async function saidBefore(
  log: AgentLog,
  { thread, seq }: Situation,
  { before = seq + 1, limit }: { before?: number | undefined; limit: number },
): Promise<{ messages: RecentMessage[]; next_before: number | null }> {
  let said = thread.filter((each) => each.seq < before);
  let from = Math.min(before, thread[0]?.seq ?? before);
  while (said.length <= limit && from > 1) {
    const after = Math.max(0, from - 1 - FACTS_AT_ONCE);
    const facts = await log.read({ after, limit: from - 1 - after });
    const older = facts.flatMap((fact) => {
      const words = fact.seq < from && messageIn(fact);
      return words ? [{ seq: fact.seq, ts: fact.ts, ...words }] : [];
    });
    said = [...older, ...said];
    from = after + 1;
  }
  const messages = said.slice(-limit);
  return { messages, next_before: said.length > limit ? (messages[0]?.seq ?? null) : null };
}
