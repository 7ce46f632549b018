import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import swagger from "@fastify/swagger";
import fastify, {
  type FastifyBaseLogger,
  type FastifyBodyParser,
  type FastifyInstance,
  type RouteOptions,
} from "fastify";
import {
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from "fastify-type-provider-zod";
import { z } from "zod";
import { Agents } from "./agents.ts";
import type { Api, RouteDeps } from "./api-app.ts";
import type { ServerDeps } from "./deps.ts";
import { registerEvents } from "./event-socket.ts";
import { registerGuard } from "./guard.ts";
import { registerHostedAgents } from "./hosted-agents.ts";
import { requestId } from "./logs.ts";
import { registerMetrics } from "./metrics.ts";
import { readPem } from "./reach.ts";
import { notFound, sendError } from "./refusal.ts";
import { agentRoutes } from "./routes/agents.ts";
import { commandRoutes, nearestRoute } from "./routes/commands.ts";
import { eventRoutes } from "./routes/events.ts";
import { fileRoutes } from "./routes/files.ts";
import { hostRoutes } from "./routes/hosts.ts";
import { meshResultRoutes } from "./routes/mesh-results.ts";
import { meshRoutes } from "./routes/meshes.ts";
import { pageRoutes } from "./routes/page.ts";
import { repositoryRoutes } from "./routes/repository.ts";
import { scheduleRoutes } from "./routes/schedule.ts";
import { serverRoutes } from "./routes/server.ts";
import { speechRoutes } from "./routes/speech.ts";
import { webhookRoutes } from "./routes/webhooks.ts";
import { workRoutes } from "./routes/work.ts";
import { ServerCredentials } from "./server-credentials.ts";

export type { ServerDeps } from "./deps.ts";

declare module "fastify" {
  interface FastifyInstance {
    agents: Agents;
    credentials: ServerCredentials;
  }
}

/** More belongs in a file. */
const LARGEST_BODY = 256 * 1024;

/** Who opens connections and says nothing, or says it a byte at a time, does not hold them for long. */
const PATIENCE = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };

/** Connections are open files, and the home needs some too. */
const MOST_CONNECTIONS = 2000;

/** Assembles the server, not yet listening. The guard checks every route that is registered here. */
export async function buildServer(deps: ServerDeps): Promise<FastifyInstance> {
  const { runtime, settings, token, webDir, reach: config = settings.config.server ?? {} } = deps;
  const app = newApp(deps);
  const api: Api = app.withTypeProvider<ZodTypeProvider>();
  const credentials = new ServerCredentials(token, () => runtime.clock.now());
  const agents = new Agents(runtime);
  app.decorate("agents", agents).decorate("credentials", credentials);
  app.setValidatorCompiler(validatorCompiler).setSerializerCompiler(serializerCompiler);
  app.removeContentTypeParser(["text/plain", "application/json"]);
  app.addContentTypeParser("application/json", { parseAs: "string" }, jsonOrNothing(app));
  app.setErrorHandler(sendError);
  if (runtime.hosting) registerHostedAgents(app, runtime, runtime.hosting);
  registerGuard(app, { credentials, config, now: () => runtime.clock.now() });
  app.setNotFoundHandler(({ method, url }) => {
    throw notFound(`There is nothing here.${nearestRoute(method, url)} GET /openapi.json says what there is.`);
  });
  const version = versionOf();
  await app.register(swagger, describing(version));
  app.addHook("onRoute", refuseUnknownQuery);
  const routeDeps: RouteDeps = { ...deps, agents };
  const kinds = [
    commandRoutes,
    agentRoutes,
    speechRoutes,
    workRoutes,
    repositoryRoutes,
    fileRoutes,
    scheduleRoutes,
    eventRoutes,
    webhookRoutes,
  ];
  for (const add of [...kinds, meshRoutes, meshResultRoutes]) add(api, routeDeps);
  hostRoutes(api, routeDeps);
  serverRoutes(api, routeDeps, credentials, version);
  await registerEvents(app, { runtime });
  registerMetrics(app, { runtime });
  if (webDir !== undefined) pageRoutes(api, webDir);
  const unhear = [tellOfConfig(deps, app.log), tellOfWriteErrors(deps, app.log)];
  app.addHook("onClose", async () => {
    for (const each of unhear) each();
  });
  return app;
}

/** The web server itself, without routes: limits, time-outs, TLS. */
function newApp({ settings, logger, reach: config = settings.config.server ?? {} }: ServerDeps): FastifyInstance {
  const tls = config.tls && {
    key: readPem(settings.home, config.tls.key),
    cert: readPem(settings.home, config.tls.cert),
  };
  const options = {
    bodyLimit: LARGEST_BODY,
    exposeHeadRoutes: false,
    // Believed of the one proxy that is named, and of nobody else.
    trustProxy: config.proxy ? [config.proxy.address] : false,
    routerOptions: { maxParamLength: 5000 },
    requestTimeout: 30_000,
    connectionTimeout: 120_000,
    // Open requests are finished; `stopOnSignals` sees to it that nobody takes too long.
    forceCloseConnections: "idle",
    genReqId: requestId,
    ...(logger && { loggerInstance: logger }),
  } as const;
  const app = (tls
    ? fastify({ ...options, https: { ...PATIENCE, handshakeTimeout: PATIENCE.headersTimeout, ...tls } })
    : fastify({ ...options, http: PATIENCE })) as unknown as FastifyInstance;
  app.server.maxConnections = MOST_CONNECTIONS;
  // Accepting a connection can fail, for example when no descriptors are left. The client tries again.
  const notAccepted = (error: Error) => app.log.warn({ err: error }, "a connection could not be accepted");
  app.server.once("listening", () => app.server.on("error", notAccepted));
  return app;
}

const noQuery = z.strictObject({});

/** A parameter that a route does not have is refused there too where it has none at all. */
function refuseUnknownQuery({ schema }: RouteOptions): void {
  if (schema?.tags && !schema.querystring) schema.querystring = noQuery;
}

function tellOfWriteErrors({ runtime }: ServerDeps, log: FastifyBaseLogger): () => void {
  return runtime.store.onWriteError((error) => {
    if (error) log.error({ err: error }, "nothing can be recorded");
    else log.info("there is space on the disk again; recording continues");
  });
}

function tellOfConfig({ settings }: ServerDeps, log: FastifyBaseLogger): () => void {
  if (!("onChange" in settings)) return () => {};
  return settings.onChange(({ problem, after_restart }) => {
    if (problem !== null) log.warn({ problem }, "config.json is invalid; the last valid version stays in use");
    else if (after_restart.length > 0)
      log.warn({ after_restart }, "config.json was read again; these changes need a restart");
    else log.info("config.json was read again");
  });
}

/** Many clients name a content type whatever they send: a request without a body stays one, and its schema says whether one is needed. */
function jsonOrNothing(app: FastifyInstance): FastifyBodyParser<string> {
  const parse = app.getDefaultJsonParser("error", "error");
  return (request, body, done) => (body === "" ? done(null, undefined) : parse(request, body, done));
}

function describing(version: string) {
  return {
    openapi: {
      openapi: "3.1.0",
      info: { title: "Agiraph", version, description: "Long-lived AI agents that grow a team around a goal." },
      components: { securitySchemes: { token: { type: "http" as const, scheme: "bearer" } } },
      security: [{ token: [] }],
    },
    transform: jsonSchemaTransform,
  };
}

const manifestSchema = z.object({ version: z.string() });

function versionOf(): string {
  const manifest = findPackageJSON(import.meta.url);
  return manifest ? manifestSchema.parse(JSON.parse(readFileSync(manifest, "utf8"))).version : "unknown";
}
