import { z } from "zod";
import { type Situation, type TriggerRecord, triggerNamed, triggerRecords } from "../../projections/index.ts";
import { afterIdQuery, createTriggerSchema, triggerSchema, triggersPageSchema } from "../../protocol/api.ts";
import { HUMAN } from "../../protocol/index.ts";
import { type Api, answers, ofAgent, pageOf, type RouteDeps, refusals } from "../api-app.ts";
import { notFound, Refused } from "../refusal.ts";

export function scheduleRoutes(app: Api, { agents }: RouteDeps): void {
  const tags = ["triggers"];

  app.get(
    "/agents/:id/triggers",
    {
      schema: {
        summary: "What is to happen later, then what is over",
        tags,
        params: ofAgent,
        querystring: afterIdQuery,
        response: answers(triggersPageSchema),
      },
    },
    async ({ params, query }) => {
      const { items, next_after } = pageOf(recordsOf(await agents.situation(params.id)), query, ({ id }) => id);
      return { triggers: items, next_after };
    },
  );

  app.post(
    "/agents/:id/triggers",
    {
      schema: {
        summary: "Have something happen later",
        tags,
        params: ofAgent,
        body: createTriggerSchema,
        response: { 201: triggerSchema, ...refusals },
      },
    },
    async ({ params, body }, reply) => {
      const agent = await agents.agent(params.id);
      if (agent.now.agent.archived_ts !== null)
        throw new Refused(409, "conflict", `${agent.now.agent.created.name} is archived. Restore it first.`);
      const made = await agent.schedule.create(HUMAN, body);
      if (typeof made !== "string") throw new Refused(400, "bad_request", made.content);
      agent.keepTime();
      const id = /^Scheduled (trigger-\d+)/.exec(made)?.[1];
      return reply.code(201).send(recordOf(agent.now, id ?? ""));
    },
  );

  app.delete(
    "/agents/:id/triggers/:trigger_id",
    {
      schema: {
        summary: "Cancel it",
        tags,
        params: ofAgent.extend({ trigger_id: z.string().max(60) }),
        response: answers(triggerSchema),
      },
    },
    async ({ params }) => {
      const agent = await agents.agent(params.id);
      if (!triggerNamed(agent.now.triggers, params.trigger_id)) throw noTrigger(params.trigger_id);
      const done = await agent.schedule.cancel(HUMAN, params.trigger_id);
      if (typeof done !== "string") throw new Refused(409, "conflict", done.content);
      return recordOf(agent.now, params.trigger_id);
    },
  );
}

function recordsOf({ triggers, agent }: Situation): TriggerRecord[] {
  return triggerRecords(triggers, agent.id);
}

function recordOf(now: Situation, id: string): TriggerRecord {
  const found = recordsOf(now).findLast((record) => record.id === id);
  if (!found) throw noTrigger(id);
  return found;
}

function noTrigger(id: string): Refused {
  return notFound(`There is no trigger "${id}".`);
}
