import {
  repositoryConflictQuery,
  repositoryConflictSchema,
  repositoryDiffQuery,
  repositoryDiffSchema,
  repositoryLinesQuery,
  repositoryLinesSchema,
  repositoryPatchQuery,
  repositoryViewSchema,
} from "../../protocol/api/repository.ts";
import { type Api, ofAgent, type RouteDeps, responses } from "../api-app.ts";

const tags = ["repository"];

/** The work of an agent that writes, to look at. What can be done with it are commands. */
export function repositoryRoutes(app: Api, { agents, runtime }: RouteDeps): void {
  const readerOf: ReaderOf = async (id) => {
    const [log, now] = await Promise.all([agents.log(id), agents.situation(id)]);
    return runtime.repositoryReader(now, log.dir);
  };
  branchRoutes(app, readerOf);
  lineRoutes(app, readerOf);
}

type ReaderOf = (id: string) => Promise<ReturnType<RouteDeps["runtime"]["repositoryReader"]>>;

function branchRoutes(app: Api, readerOf: ReaderOf): void {
  app.get(
    "/agents/:id/repository",
    {
      schema: {
        summary: "Its branch, and what each node did to it",
        tags,
        params: ofAgent,
        response: responses(repositoryViewSchema),
      },
    },
    async ({ params }) => (await readerOf(params.id)).view(),
  );

  app.get(
    "/agents/:id/repository/diff",
    {
      schema: {
        summary: "What the branch changes, or one node",
        tags,
        params: ofAgent,
        querystring: repositoryDiffQuery,
        response: responses(repositoryDiffSchema),
      },
    },
    async ({ params, query }) => (await readerOf(params.id)).diff(query),
  );

  app.get(
    "/agents/:id/repository/patch",
    {
      schema: {
        summary: "The same changes as a patch, as git apply reads it",
        tags,
        produces: ["text/plain"],
        params: ofAgent,
        querystring: repositoryPatchQuery,
      },
    },
    async ({ params, query }, reply) => {
      const patch = await (await readerOf(params.id)).patch(query.node_id);
      return reply.type("text/plain; charset=utf-8").send(patch);
    },
  );
}

function lineRoutes(app: Api, readerOf: ReaderOf): void {
  app.get(
    "/agents/:id/repository/lines",
    {
      schema: {
        summary: "Lines of a file as a commit has it",
        tags,
        params: ofAgent,
        querystring: repositoryLinesQuery,
        response: responses(repositoryLinesSchema),
      },
    },
    async ({ params, query }) => (await readerOf(params.id)).lines(query),
  );

  app.get(
    "/agents/:id/repository/conflict",
    {
      schema: {
        summary: "The latest conflict of a node, with the lines of both sides",
        tags,
        params: ofAgent,
        querystring: repositoryConflictQuery,
        response: responses(repositoryConflictSchema),
      },
    },
    async ({ params, query }) => (await readerOf(params.id)).conflict(query.node_id),
  );
}
