import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { z } from "zod";
import { isAtWork } from "../../projections/index.ts";
import {
  type AgentSummary,
  agentDetailSchema,
  agentSummarySchema,
  agentsPageSchema,
  agentsQuery,
  createAgentSchema,
  resumeSchema,
} from "../../protocol/api.ts";
import { HUMAN } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import { checkNotArchived } from "../../runtime/human/human-facts.ts";
import { type NewAgent, UnpricedModel } from "../../runtime/runtime.ts";
import { runFiles } from "../../store/run/results.ts";
import { summaryOf } from "../agents.ts";
import { type Api, answers, ofAgent, pageOf, type RouteDeps, refusals } from "../api-app.ts";
import { Refused, wrongField } from "../refusal.ts";

export function agentRoutes(app: Api, { runtime, agents, settings }: RouteDeps): void {
  app.post(
    "/agents",
    {
      schema: {
        summary: "Create an agent and start it",
        tags: ["agents"],
        body: createAgentSchema,
        response: { 201: agentSummarySchema, ...refusals },
      },
    },
    async ({ body }, reply) => {
      const agent = await runtime.create(await orderFrom(body));
      return reply.code(201).header("location", `/agents/${agent.log.id}`).send(summaryOf(agent.now));
    },
  );

  app.get(
    "/agents",
    {
      schema: {
        summary: "All agents, newest first",
        tags: ["agents"],
        querystring: agentsQuery,
        response: answers(agentsPageSchema),
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
        response: answers(agentDetailSchema),
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

  const steer = (path: string, summary: string, deed: (agent: Agent) => Promise<void>) => {
    app.post(
      `/agents/:id/${path}`,
      { schema: { summary, tags: ["agents"], params: ofAgent, response: answers(agentSummarySchema) } },
      async ({ params }) => {
        const agent = await agents.agent(params.id);
        await deed(agent);
        return summaryOf(agent.now);
      },
    );
  };
  steer("stop", "Stop its workers; what was said and done is kept", async (agent) => {
    if (agent.now.agent.status === "stopped") return;
    checkAtWork(agent);
    await agent.stop(HUMAN);
  });
  steer("pause", "Let it rest until it is resumed", async (agent) => {
    if (agent.now.agent.status === "paused") return;
    checkAtWork(agent);
    await agent.pause(HUMAN);
  });
  steer("restore", "Bring back an agent that was archived", (agent) => agent.restore(HUMAN));

  app.post(
    "/agents/:id/resume",
    {
      schema: {
        summary: "Go on where it was stopped, paused, failed or interrupted",
        tags: ["agents"],
        params: ofAgent,
        body: resumeSchema,
        response: answers(agentSummarySchema),
      },
    },
    async ({ params, body }) => {
      const agent = await agents.agent(params.id);
      const { status, created } = agent.now.agent;
      if (agent.isWorking) throw conflict(`${created.name} is at work already.`);
      checkNotArchived(agent.now);
      if (status === "completed") throw conflict(`${created.name} is completed. Send it a message with its next goal.`);
      const why = isAtWork(status) || status === "idle" ? "recovered" : "resumed";
      for (const field of ["model", "worker_model"] as const) {
        const model = body?.[field];
        if (model !== undefined) checkField(field, "unusable_model", () => void runtime.checkModel(model));
      }
      if (body?.model ?? body?.worker_model)
        await agent.changeModels({ model: body?.model, worker_model: body?.worker_model });
      await agent.start(why, { budget_usd: body?.budget_usd, budget_tokens: body?.budget_tokens });
      return summaryOf(agent.now);
    },
  );

  app.delete(
    "/agents/:id",
    {
      schema: {
        summary: "Stop it and put it out of sight; nothing is erased",
        tags: ["agents"],
        params: ofAgent,
        response: answers(agentSummarySchema),
      },
    },
    async ({ params }) => {
      const agent = await agents.agent(params.id);
      await agent.archive(HUMAN);
      return summaryOf(agent.now);
    },
  );

  async function orderFrom(body: z.output<typeof createAgentSchema>): Promise<NewAgent> {
    const {
      goal,
      name,
      mode,
      tools,
      budget_tokens = settings.config.budget_tokens,
      cycle_seconds,
      watch,
      project,
    } = body;
    const model = body.model ?? (await runtime.catalog.chooseDefault()).model;
    const worker_model = body.worker_model ?? settings.env.AGIRAPH_WORKER_MODEL ?? settings.config.worker_model;
    const budget_usd = body.budget_usd ?? settings.config.budget_usd;
    checkField("model", "unusable_model", () => void runtime.checkModel(model));
    if (worker_model) checkField("worker_model", "unusable_model", () => void runtime.checkModel(worker_model));
    if (tools) checkField("tools", "bad_request", () => runtime.checkTools(tools));
    if (budget_usd) await checkPrices(model, worker_model);
    if (project !== undefined) await checkProject(project);
    return {
      goal,
      model,
      ...(name && { name }),
      ...(mode && { mode }),
      ...(worker_model && { worker_model }),
      ...(tools && { tools }),
      ...(budget_usd && { budget_usd }),
      ...(budget_tokens && { budget_tokens }),
      ...(cycle_seconds && { cycle_seconds }),
      ...(watch && { watch }),
      ...(project && { project }),
    };
  }

  /** A name that cannot be used here is an error before anything is made, with what to use instead. */
  function checkField(field: string, code: string, check: () => void): void {
    try {
      check();
    } catch (error) {
      throw wrongField(field, error instanceof Error ? error.message : String(error), code);
    }
  }

  async function checkPrices(...models: (string | undefined)[]): Promise<void> {
    await runtime.checkPrices(...models).catch((error: unknown) => {
      throw error instanceof UnpricedModel ? wrongField("budget_usd", error.message, "unpriced_model") : error;
    });
  }
}

async function checkProject(folder: string): Promise<void> {
  if (!isAbsolute(folder)) throw wrongField("project", `${folder} is not an absolute path. Begin it with /.`);
  const found = await stat(folder).catch(() => undefined);
  if (!found)
    throw wrongField("project", `There is no folder ${folder} on the server's machine, or it may not look there.`);
  if (!found.isDirectory()) throw wrongField("project", `${folder} is a file. Name the folder that it is in.`);
}

function checkAtWork({ now }: Agent): void {
  const { status, created } = now.agent;
  if (!isAtWork(status)) throw conflict(`${created.name} is not at work: it is ${status}.`);
}

function conflict(message: string): Refused {
  return new Refused(409, "conflict", message);
}
