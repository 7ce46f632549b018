import { realpathSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { z } from "zod";
import { isMessageName } from "../../mesh/files/queue-files.ts";
import type { AgentSummaryData } from "../../projections/index.ts";
import {
  archivedMeshSchema,
  archiveMeshSchema,
  type MeshProjectView,
  meshLetterQuery,
  meshLetterSchema,
  meshProjectSchema,
  meshProjectsPageSchema,
  meshQueueSchema,
  meshQueuesQuery,
  meshQueuesSchema,
  meshViewSchema,
  sendMeshMessageSchema,
  sentMeshMessageSchema,
  startMeshesSchema,
  trustMeshSchema,
} from "../../protocol/api/meshes.ts";
import { afterIdQuery } from "../../protocol/api/page-query.ts";
import { HUMAN } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { HostedMeshes } from "../../runtime/meshes/project.ts";
import { meshView, queuesView, wholeMessageView } from "../../runtime/meshes/views.ts";
import { actingAs } from "../../runtime/state/acting.ts";
import { type Api, answers, ofAgent, pageOf, type RouteDeps, refusals } from "../api-app.ts";
import { notFound, Refused } from "../refusal.ts";
import { actorOf } from "./commands.ts";

export const ofMesh = ofAgent.extend({ mesh: z.string().max(200) });
const ofMeshAgent = ofMesh.extend({ agent: z.string().max(200) });
const tags = ["meshes"];

/** Meshes: declared teams of a project, whose messages are files. */
export function meshRoutes(app: Api, deps: RouteDeps): void {
  projectRoutes(app, deps);
  const hosted = hostedBy(deps.agents);
  readingRoutes(app, hosted);
  messageRoutes(app, hosted);
  trustRoutes(app, hosted);
  sessionRoutes(app, hosted);
}

/** Projects and their meshes: list, start, show, stop. */
function projectRoutes(app: Api, { runtime, agents }: RouteDeps): void {
  const record = recordIn(agents);

  app.get(
    "/meshes",
    {
      schema: {
        summary: "Projects whose meshes are or were running",
        tags,
        querystring: afterIdQuery,
        response: answers(meshProjectsPageSchema),
      },
    },
    async ({ query }) => {
      const all = (await runtime.summaries()).flatMap((summary) => listed(summary) ?? []);
      const { items, next_after } = pageOf(all, query, ({ id }) => id);
      return { projects: items, next_after };
    },
  );

  app.post(
    "/meshes",
    {
      schema: {
        summary: "Start the meshes of a project",
        tags,
        body: startMeshesSchema,
        response: { 200: meshProjectSchema, 201: meshProjectSchema, ...refusals },
      },
    },
    async (request, reply) => {
      const { body } = request;
      const project = folderOf(body.project);
      if (body.environment) runtime.meshEnvironments.set(project, body.environment);
      const actor = actorOf(request);
      const agent = await actingAs(actor, () => runtime.meshRecord(project));
      if (!(await actingAs(actor, () => startOnce(agent)))) return reply.code(200).send(viewOf(agent));
      return reply.code(201).header("location", `/meshes/${agent.log.id}`).send(viewOf(agent));
    },
  );

  app.get(
    "/meshes/:id",
    { schema: { summary: "The meshes of a project", tags, params: ofAgent, response: answers(meshProjectSchema) } },
    async ({ params }) => viewOf(await record(params.id)),
  );

  app.post(
    "/meshes/:id/stop",
    {
      schema: {
        summary: "Stop the meshes and everything they run; messages stay",
        tags,
        params: ofAgent,
        response: answers(meshProjectSchema),
      },
    },
    async (request) => {
      const agent = await record(request.params.id);
      await actingAs(actorOf(request), () => agent.stop(HUMAN));
      return viewOf(agent);
    },
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
        response: answers(meshQueuesSchema),
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
        querystring: meshLetterQuery,
        response: answers(meshLetterSchema),
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

/** Sending messages, and archiving those that are complete. */
function messageRoutes(app: Api, hosted: Hosted): void {
  app.post(
    "/meshes/:id/:mesh/messages",
    {
      schema: {
        summary: "Write a message to a mesh, or to one of its agents",
        tags,
        params: ofMesh,
        body: sendMeshMessageSchema,
        response: { 201: sentMeshMessageSchema, ...refusals },
      },
    },
    async ({ params, body }, reply) => {
      const agent = body.to ?? null;
      const { type, text, answers: answered } = body;
      const message = { to: agent, type, text, ...(answered !== undefined && { answers: answered }) };
      const name = (await hosted(params.id)).send(params.mesh, message);
      return reply.code(201).send({ mesh: params.mesh, agent, name });
    },
  );

  app.post(
    "/meshes/:id/:mesh/archive",
    {
      schema: {
        summary: "Archive the completed messages of a mesh and its agents",
        tags,
        params: ofMesh,
        body: archiveMeshSchema,
        response: answers(archivedMeshSchema),
      },
    },
    async ({ params: { id, mesh }, body: { days } }) => {
      const { meshes } = await hosted(id);
      if (!meshes.declared().has(mesh)) throw noMesh(mesh);
      return { mesh, archived: meshes.archive(mesh, days) };
    },
  );
}

function trustRoutes(app: Api, hosted: Hosted): void {
  app.post(
    "/meshes/:id/:mesh/trust",
    {
      schema: {
        summary: "Trust a mesh as it is declared now; the hash names the content that was reviewed",
        tags,
        params: ofMesh,
        body: trustMeshSchema,
        response: answers(meshViewSchema),
      },
    },
    async ({ params: { id, mesh }, body }) => {
      const meshes = await hosted(id);
      await meshes.trust(mesh, body);
      return viewIn(meshes, mesh);
    },
  );

  app.post(
    "/meshes/:id/:mesh/untrust",
    {
      schema: {
        summary: "Stop trusting a mesh: its sessions end, its messages stay",
        tags,
        params: ofMesh,
        response: answers(meshViewSchema),
      },
    },
    async ({ params: { id, mesh } }) => {
      const meshes = await hosted(id);
      await meshes.distrust(mesh);
      return viewIn(meshes, mesh);
    },
  );
}

function sessionRoutes(app: Api, hosted: Hosted): void {
  const steer = (deed: "spawn" | "kill", summary: string) => {
    app.post(
      `/meshes/:id/:mesh/agents/:agent/${deed}`,
      { schema: { summary, tags, params: ofMeshAgent, response: answers(meshViewSchema) } },
      async ({ params: { id, mesh, agent } }) => {
        const meshes = await hosted(id);
        await meshes[deed](mesh, agent);
        return viewIn(meshes, mesh);
      },
    );
  };
  steer("spawn", "Start an agent's session, or restart one that died");
  steer("kill", "End an agent's session; its messages stay");
}

/** False where they are running already. */
async function startOnce(agent: Agent): Promise<boolean> {
  // Someone else may be starting them now, or the server itself, which resumes what was running.
  await agent.settled();
  const isFirst = !agent.isWorking;
  if (isFirst) await agent.start(agent.now.agent.status === "idle" ? "created" : "resumed");
  else await agent.settled();
  return isFirst;
}

type Hosted = ReturnType<typeof hostedBy>;

function viewIn(meshes: HostedMeshes, mesh: string) {
  const view = meshView(meshes, mesh);
  if (!view) throw noMesh(mesh);
  return view;
}

const recordIn = (agents: RouteDeps["agents"]) => async (id: string) => {
  const agent = await agents.agent(id);
  if (agent.now.agent.created.meshes) return agent;
  throw notFound(`${agent.now.agent.created.name} is not the record of a project's meshes. GET /meshes lists those.`);
};

/** The meshes of a project, if they are running. */
export const hostedBy =
  (agents: RouteDeps["agents"]) =>
  async (id: string): Promise<HostedMeshes> => {
    const agent = await recordIn(agents)(id);
    if (agent.meshes) return agent.meshes;
    throw new Refused(
      409,
      "not_started",
      `${agent.now.agent.created.name} is stopped. Start it: tx start, in its folder.`,
    );
  };

function viewOf(agent: Agent): MeshProjectView {
  const { id, created, status } = agent.now.agent;
  const { meshes: hosted } = agent;
  const names = hosted ? [...hosted.meshes.declared().keys()] : [];
  return {
    id,
    name: created.name,
    project: created.project ?? "",
    status,
    meshes: hosted ? names.flatMap((name) => meshView(hosted, name) ?? []) : [],
    problems: hosted?.problems() ?? [],
  };
}

function listed({ id, name, meshes_of: project, status, archived }: AgentSummaryData) {
  return project === null || archived ? undefined : { id, name, project, status };
}

function folderOf(project: string): string {
  const isFolder = isAbsolute(project) && statSync(project, { throwIfNoEntry: false })?.isDirectory();
  if (!isFolder)
    throw new Refused(
      400,
      "bad_request",
      `project: ${project} is not the absolute path of a folder on the server's machine.`,
    );
  return realpathSync(project);
}

export function noMesh(mesh: string): Refused {
  return notFound(`There is no mesh "${mesh.slice(0, 80)}" here.`);
}
