import type { Situation, Utterance } from "../../projections/index.ts";
import { utteranceIn } from "../../projections/index.ts";
import {
  afterIdQuery,
  beforeSeqQuery,
  conversationPageSchema,
  deliveredSchema,
  inboxPageSchema,
  nudgeSchema,
  permissionsPageSchema,
  questionsPageSchema,
  respondSchema,
  revokeSchema,
  seenSchema,
  sendSchema,
} from "../../protocol/api.ts";
import type { AgentLog } from "../../store/store.ts";
import { type Api, answers, ofAgent, pageOf, type RouteDeps } from "../api-app.ts";

/** The channel of whoever speaks through the API. */
const CHANNEL = "web";

export function speechRoutes(app: Api, { agents }: RouteDeps): void {
  const delivered = (detail: string) => ({ status: "delivered" as const, detail });
  const tags = ["conversation"];

  app.post(
    "/agents/:id/send",
    {
      schema: {
        summary: "Say something to an agent, or to one of its team",
        tags,
        params: ofAgent,
        body: sendSchema,
        response: answers(deliveredSchema),
      },
    },
    async ({ params, body }) => {
      const agent = await agents.agent(params.id);
      return delivered(await agent.send(body.message, body.to, CHANNEL));
    },
  );

  app.post(
    "/agents/:id/nudge",
    {
      schema: {
        summary: "Give the coordinator a hint while it works",
        tags,
        params: ofAgent,
        body: nudgeSchema,
        response: answers(deliveredSchema),
      },
    },
    async ({ params, body }) => delivered(await (await agents.agent(params.id)).nudge(body.message, CHANNEL)),
  );

  app.post(
    "/agents/:id/respond",
    {
      schema: {
        summary: "Answer a question",
        tags,
        params: ofAgent,
        body: respondSchema,
        response: answers(deliveredSchema),
      },
    },
    async ({ params, body }) => {
      const agent = await agents.agent(params.id);
      return delivered(await agent.respond(body.response, body.question_id, CHANNEL));
    },
  );

  app.get(
    "/agents/:id/permissions",
    {
      schema: {
        summary: "What programs of the agent are always allowed in this run",
        tags,
        params: ofAgent,
        response: answers(permissionsPageSchema),
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

  app.post(
    "/agents/:id/permissions/revoke",
    {
      schema: {
        summary: "Take back what was always allowed: it is asked about again",
        tags,
        params: ofAgent,
        body: revokeSchema,
        response: answers(deliveredSchema),
      },
    },
    async ({ params, body }) => delivered(await (await agents.agent(params.id)).revoke(body.key)),
  );

  app.post(
    "/agents/:id/seen",
    {
      schema: {
        summary: "The human has seen what was said to them: by one of the team, one message, or everything",
        tags,
        params: ofAgent,
        body: seenSchema,
        response: answers(deliveredSchema),
      },
    },
    async ({ params, body }) => {
      await (await agents.agent(params.id)).seen(body ?? {});
      return delivered("Seen.");
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
        response: answers(questionsPageSchema),
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

  app.get(
    "/agents/:id/conversation",
    {
      schema: {
        summary: "What people said to each other",
        tags,
        params: ofAgent,
        querystring: beforeSeqQuery,
        response: answers(conversationPageSchema),
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
        response: answers(inboxPageSchema),
      },
    },
    async ({ query }) => {
      const { items, next_after } = pageOf(await agents.inbox(), query, ({ agent, id }) => `${agent.id}/${id}`);
      return { items: items.map((item) => ({ ...item, choices: [...item.choices] })), next_after };
    },
  );
}

const FACTS_AT_ONCE = 2000;

/** The newest are in the fold; what was said before that is found in the log, going back. */
async function saidBefore(
  log: AgentLog,
  { thread, seq }: Situation,
  { before = seq + 1, limit }: { before?: number | undefined; limit: number },
): Promise<{ messages: Utterance[]; next_before: number | null }> {
  let said = thread.filter((each) => each.seq < before);
  let from = Math.min(before, thread[0]?.seq ?? before);
  while (said.length <= limit && from > 1) {
    const after = Math.max(0, from - 1 - FACTS_AT_ONCE);
    const facts = await log.read({ after, limit: from - 1 - after });
    const older = facts.flatMap((fact) => {
      const words = fact.seq < from && utteranceIn(fact);
      return words ? [{ seq: fact.seq, ts: fact.ts, ...words }] : [];
    });
    said = [...older, ...said];
    from = after + 1;
  }
  const messages = said.slice(-limit);
  return { messages, next_before: said.length > limit ? (messages[0]?.seq ?? null) : null };
}
