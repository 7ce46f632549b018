import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { Memory } from "../../memory/memory.ts";
import { searchMemory, unsearched } from "../../memory/search.ts";
import { filesPageSchema, filesQuery, memoryFoundSchema, memorySearchSchema } from "../../protocol/api/files.ts";
import { zoneOf } from "../../runtime/config/settings.ts";
import type { OpenFile } from "../../store/disk/walk.ts";
import { manifestsOf } from "../../store/run/manifests.ts";
import { agentMemoryFiles, personMemoryFiles } from "../../store/run/memory-files.ts";
import type { Scope } from "../../store/scope/scope.ts";
import { ScopeRefusal } from "../../store/scope/scope-refusal.ts";
import { humanScope } from "../../store/scope/team-scopes.ts";
import { type Api, ofAgent, pageOf, type RouteDeps, responses } from "../api-app.ts";
import { sendFile } from "../send-file.ts";
import { notAnArchive, sendZip } from "../send-zip.ts";

const MOST_LISTED = 10_000;
const ANSWER_TOKENS = 8000;
/** If the client gives no limit. */
const LEAST_FOUND = 10;
const MOST_FOUND = 20;

type FilesQuery = z.output<typeof filesQuery>;

const inAgent = ofAgent.extend({ "*": z.string().max(4096) });
const schema = { tags: ["files"], querystring: filesQuery };
const file = "A file as it is, or what is in a folder";
/** Files go out as they are; only listings have a schema. */
const produces = ["application/json", "text/plain", "application/octet-stream", "application/zip"];

export function fileRoutes(app: Api, deps: RouteDeps): void {
  workspaceRoutes(app, deps);
  memoryRoutes(app, deps);
}

function workspaceRoutes(app: Api, { agents }: RouteDeps): void {
  app.get(
    "/agents/:id/workspace",
    {
      schema: {
        ...schema,
        summary: "What is in an agent's folder",
        params: ofAgent,
        response: responses(filesPageSchema),
      },
    },
    async ({ params, query }) => {
      if (query.archive) throw notAnArchive();
      return await listing(humanScope((await agents.log(params.id)).dir), "", query);
    },
  );

  app.get(
    "/agents/:id/workspace/*",
    { schema: { ...schema, summary: file, produces, params: inAgent } },
    async (request, reply) => {
      const { id } = request.params;
      const { board } = await agents.situation(id);
      const scope = humanScope(
        (await agents.log(id)).dir,
        manifestsOf(() => board),
      );
      const path = request.params["*"];
      if (request.query.archive) return sendZip(scope, path, reply);
      return fileOrListing(scope, path, request, reply, request.query);
    },
  );
}

function memoryRoutes(app: Api, { agents, settings }: RouteDeps): void {
  const memoryOf = memoriesOf({ agents, settings });

  app.get(
    "/agents/:id/memory",
    {
      schema: {
        ...schema,
        summary: "The files of an agent's memory",
        params: ofAgent,
        response: responses(filesPageSchema),
      },
    },
    async ({ params, query }) => {
      if (query.archive) throw notAnArchive();
      const files = await (await memoryOf(params.id)).memory.list();
      const { items, next_after } = pageOf(files, query, ({ path }) => path);
      return {
        path: "",
        entries: items.map(({ path, bytes }) => ({ path, kind: "file" as const, bytes })),
        next_after,
        truncated: false,
      };
    },
  );

  app.get(
    "/agents/:id/memory/*",
    { schema: { ...schema, summary: file, produces, params: inAgent } },
    async (request, reply) => {
      if (request.query.archive) throw notAnArchive();
      const [scope, path] = (await memoryOf(request.params.id)).at(request.params["*"]);
      return fileOrListing(scope, path, request, reply, request.query);
    },
  );

  app.post(
    "/agents/:id/memory/search",
    {
      schema: {
        summary: "Search an agent's memory",
        tags: ["files"],
        params: ofAgent,
        body: memorySearchSchema,
        response: responses(memoryFoundSchema),
      },
    },
    async ({ params, body: { query, limit } }) => {
      const { memory } = await memoryOf(params.id);
      const options = { tokens: ANSWER_TOKENS, timeZone: memory.timeZone, least: limit ?? LEAST_FOUND };
      const found = await searchMemory(memory.searchable, query, options);
      const not_searched = unsearched(await memory.list());
      return {
        results: found.slice(0, limit ?? MOST_FOUND).map((each) => ({ ...each, headings: [...each.headings] })),
        ...(not_searched.length > 0 && { not_searched }),
      };
    },
  );
}

/** An agent's memory, and where each of its files lies: what all agents share is called `person/…`. */
const memoriesOf =
  ({ agents, settings }: Pick<RouteDeps, "agents" | "settings">) =>
  async (id: string) => {
    const shared = settings.config.memory?.shared ? personMemoryFiles(settings.home) : undefined;
    const memory = new Memory(
      agentMemoryFiles((await agents.log(id)).dir),
      { now: Date.now, timeZone: zoneOf(settings.config) },
      shared,
    );
    const at = (path: string): [Scope, string] =>
      shared && /^person(\/|$)/.test(path)
        ? [shared.scope, path.replace(/^person\/?/, "")]
        : [memory.files.scope, path];
    return { memory, at };
  };

async function fileOrListing(
  scope: Scope,
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
  query: FilesQuery,
): Promise<FastifyReply> {
  const file = await openUnlessFolder(scope, path);
  if (file) return sendFile(file, path, request, reply, query.download === "true");
  return reply.type("application/json").send(JSON.stringify(await listing(scope, path.replace(/\/+$/, ""), query)));
}

async function openUnlessFolder(scope: Scope, path: string): Promise<OpenFile | undefined> {
  try {
    return await scope.openChecked(path);
  } catch (error) {
    if (error instanceof ScopeRefusal && error.reason === "wrong_kind") return undefined;
    throw error;
  }
}

async function listing(scope: Scope, path: string, query: FilesQuery): Promise<z.output<typeof filesPageSchema>> {
  const { entries, more } = await scope.list(path, { recursive: query.recursive === "true", limit: MOST_LISTED });
  const { items, next_after } = pageOf(entries, query, (entry) => entry.path);
  return { path, entries: items, next_after, truncated: more && next_after === null };
}
