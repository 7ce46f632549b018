import { z } from "zod";
import { isMessageName } from "../../mesh/files/queue-files.ts";
import type { AgentSummaryData } from "../../projections/index.ts";
import {
  meshProjectSchema,
  meshProjectsPageSchema,
  meshQueueSchema,
  meshQueuesQuery,
  meshQueuesSchema,
  wholeMessageQuery,
  wholeMessageSchema,
} from "../../protocol/api/meshes.ts";
import { afterIdQuery } from "../../protocol/api/page-query.ts";
import { commandParams } from "../../protocol/commands.ts";
import { hostedMeshes, noMesh, projectView, recordOfMeshes } from "../../runtime/mesh-commands.ts";
import type { HostedMeshes } from "../../runtime/meshes/hosted-meshes.ts";
import { queuesView, wholeMessageView } from "../../runtime/meshes/views.ts";
import { type Api, ofAgent, pageOf, type RouteDeps, responses } from "../api-app.ts";
import { notFound } from "../refusal.ts";

export const ofMesh = ofAgent.extend({ mesh: commandParams.mesh });
const tags = ["meshes"];

/** Meshes, declared teams of a project whose messages are files, as they are now. What may be asked of them: `commands.ts`. */
export function meshRoutes(app: Api, deps: RouteDeps): void {
  projectRoutes(app, deps);
  const hosted = hostedBy(deps.agents);
  readingRoutes(app, hosted);
}

/** Projects and their meshes. */
function projectRoutes(app: Api, { runtime, agents }: RouteDeps): void {
  app.get(
    "/meshes",
    {
      schema: {
        summary: "Projects whose meshes are or were running",
        tags,
        querystring: afterIdQuery,
        response: responses(meshProjectsPageSchema),
      },
    },
    async ({ query }) => {
      const all = (await runtime.summaries()).flatMap((summary) => listed(summary) ?? []);
      const { items, next_after } = pageOf(all, query, ({ id }) => id);
      return { projects: items, next_after };
    },
  );

  app.get(
    "/meshes/:id",
    { schema: { summary: "The meshes of a project", tags, params: ofAgent, response: responses(meshProjectSchema) } },
    async ({ params }) => projectView(recordOfMeshes(await agents.agent(params.id))),
  );
}

/** Queues and single messages, as they are now. */
function readingRoutes(app: Api, hosted: Hosted): void {
  app.get(
    "/meshes/:id/:mesh/queues",
    {
      schema: {
        summary: "What is in the queues of a mesh and its agents",
        tags,
        params: ofMesh,
        querystring: meshQueuesQuery,
        response: responses(meshQueuesSchema),
      },
    },
    async ({ params, query }) => {
      const view = queuesView(await hosted(params.id), params.mesh, query.limit);
      if (!view) throw noMesh(params.mesh);
      return view;
    },
  );

  app.get(
    "/meshes/:id/:mesh/messages/:queue/:name",
    {
      schema: {
        summary: "One message",
        tags,
        params: ofMesh.extend({ queue: meshQueueSchema, name: z.string().max(255) }),
        querystring: wholeMessageQuery,
        response: responses(wholeMessageSchema),
      },
    },
    async ({ params: { id, mesh, queue, name }, query: { agent = null } }) => {
      const meshes = await hosted(id);
      const declared = meshes.meshes.declared().get(mesh);
      if (!declared) throw noMesh(mesh);
      const isPlace = agent === null || declared.agents.has(agent);
      const isName = isMessageName(name, queue) && !name.includes("/") && !name.includes("\0");
      const view = isPlace && isName ? wholeMessageView(meshes, { mesh, agent }, queue, name) : undefined;
      if (!view) throw notFound(`There is no ${name.slice(0, 80)} in ${queue} of ${agent ?? mesh} now.`);
      return view;
    },
  );
}

type Hosted = ReturnType<typeof hostedBy>;

/** The meshes of a project, if they are running. */
export const hostedBy =
  (agents: RouteDeps["agents"]) =>
  async (id: string): Promise<HostedMeshes> =>
    hostedMeshes(await agents.agent(id));

function listed({ id, name, meshes_of: project, status, archived }: AgentSummaryData) {
  return project === null || archived ? undefined : { id, name, project, status };
}
