import { resolve } from "node:path";
import { z } from "zod";
import { serverPrefix } from "../../models/catalog/declared-models.ts";
import { errorBodySchema } from "../../protocol/api/error-body.ts";
import { afterIdQuery } from "../../protocol/api/page-query.ts";
import { configStateSchema, healthSchema, loginLinkSchema, modelsPageSchema } from "../../protocol/api/server.ts";
import { configStateOf } from "../../runtime/config/live-config.ts";
import { type Api, pageOf, type RouteDeps, responses } from "../api-app.ts";
import { boundAddress, pageOrigin } from "../reach.ts";
import { RefusedRequest } from "../refusal.ts";
import type { ServerCredentials } from "../server-credentials.ts";

const tags = ["server"];

/** What concerns the server and its home, not one agent. */
export function serverRoutes(app: Api, deps: RouteDeps, credentials: ServerCredentials, version: string): void {
  stateRoutes(app, deps, version);
  modelRoutes(app, deps);
  loginRoutes(app, deps, credentials);
}

function stateRoutes(app: Api, { runtime, settings }: RouteDeps, version: string): void {
  app.get(
    "/healthz",
    {
      config: { access: "open" },
      // Health checks often need only the status code.
      exposeHeadRoute: true,
      schema: {
        summary: "Whether the server is running and can record",
        tags,
        security: [],
        response: { 200: healthSchema, 503: healthSchema, "4xx": errorBodySchema },
      },
    },
    async (_, reply) => {
      const { recordingProblem } = runtime;
      return reply.code(recordingProblem ? 503 : 200).send({ status: recordingProblem ?? ("ok" as const), version });
    },
  );

  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());

  app.get(
    "/config",
    {
      schema: {
        summary: "Whether config.json is valid, and which changes need a restart",
        tags,
        response: responses(configStateSchema),
      },
    },
    async () => {
      const { problem, after_restart } = configStateOf(settings);
      return { problem, after_restart: [...after_restart] };
    },
  );
}

function modelRoutes(app: Api, { runtime, settings, folder }: RouteDeps): void {
  app.get(
    "/models",
    {
      schema: {
        summary: "Models that are known or declared in config.json, what they cost, and whether they can be used",
        tags,
        querystring: afterIdQuery,
        response: responses(modelsPageSchema),
      },
    },
    async ({ query }) => {
      const [listed, chosen] = await Promise.all([runtime.catalog.list(), runtime.catalog.chooseDefault()]);
      const { items, next_after } = pageOf(listed, query, ({ id }) => id);
      return {
        models: items.map(({ id, contextWindow, searchesWeb, price, missing, malformed }) => ({
          id,
          context_window: contextWindow,
          searches_web: searchesWeb,
          price_usd_per_million: price,
          usable: missing === null && malformed === null,
          missing: malformed === null ? missing : `${malformed} is malformed`,
        })),
        prefixes: Object.keys(settings.config.providers ?? {}).map(serverPrefix),
        default: {
          ...chosen,
          worker_model: settings.env.AGIRAPH_WORKER_MODEL || settings.config.worker_model || null,
          budget_usd: settings.config.budget_usd ?? null,
          project: folder ?? null,
        },
        projects: Object.entries(settings.config.projects ?? {}).map(([path, { write = false }]) => ({
          folder: resolve(path),
          write,
        })),
        next_after,
      };
    },
  );
}

function loginRoutes(
  app: Api,
  { settings, webDir, reach: config = settings.config.server ?? {} }: RouteDeps,
  credentials: ServerCredentials,
): void {
  app.post(
    "/login",
    { schema: { summary: "A link that logs a browser in, once", tags, response: responses(loginLinkSchema) } },
    async ({ origin }) => {
      const { once, expires_at } = credentials.newLink();
      return { url: `${pageOrigin(boundAddress(app.server), config, origin)}/login?once=${once}`, expires_at };
    },
  );

  app.get(
    "/login",
    {
      config: { access: "open" },
      schema: {
        summary:
          "Redeems a one-time link: sets the cookie of the page and redirects there, as it does for a browser that has the cookie",
        tags,
        security: [],
        querystring: z.strictObject({ once: z.string().max(200) }),
        response: { 303: z.string(), "4xx": errorBodySchema },
      },
    },
    async ({ query, origin, headers }, reply) => {
      const cookie = credentials.redeem(query.once, origin);
      if (cookie) return reply.code(303).headers({ location: "/", "set-cookie": cookie }).send("");
      // From the browser's history, or by a second click: someone who is logged in comes to the page.
      if (credentials.isCookie(headers.cookie ?? "", origin))
        return reply.code(303).headers({ location: "/" }).send("");
      // A person reads why on the page, where the token can be given instead.
      if (webDir !== undefined && headers.accept?.includes("text/html"))
        return reply.code(303).headers({ location: "/ui/?link=spent" }).send("");
      throw new RefusedRequest(
        401,
        "unauthorised",
        "This link has been used or has expired. `agiraph token --link` makes another.",
      );
    },
  );
}
