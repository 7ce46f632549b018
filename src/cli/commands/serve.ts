import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { ServerConfig } from "../../protocol/config.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { boundAddress, checkReach, ownUrl, pageOrigin } from "../../server/reach.ts";
import { tokenOf } from "../../store/home/token-file.ts";
import { EXIT, type ExitCode, Refusal, UsageError } from "../exit-code.ts";
import { crashMessage, onCrash } from "../home/crash.ts";
import { engineOf } from "../home/engine-choice.ts";
import type { EngineHomePorts } from "../home/engine-home.ts";
import { deafChannels } from "../home/extension-remarks.ts";
import { tellRepairs } from "../home/local-home.ts";
import { settingsOf } from "../home/look.ts";
import { followed, openHome } from "../home/open-home.ts";
import { crashesWith, restart, takeNote, waitAfter } from "../home/restart.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { plain } from "../wording/width.ts";

export interface ServeOptions {
  port?: number;
  host?: string;
  unsafeNoSandbox?: boolean;
  /** The PostgreSQL to work from, its schema, and what this host is called there. */
  engine?: string;
  schema?: string;
  hostName?: string;
}

const DEFAULT_PORT = 4747;

/** The API and the page for all agents of a home, until it is stopped. */
export async function serve(call: Invocation, options: ServeOptions): Promise<ExitCode> {
  const { terminal } = call;
  const restarted = takeNote(process.env);
  if (restarted) await setTimeout(waitAfter(restarted));
  const settings = followed(await settingsOf(call, options));
  const where = {
    host: options.host ?? settings.config.server?.host ?? "127.0.0.1",
    port: restarted?.port ?? portOf(options, settings),
  };
  const config = settings.config.server ?? {};
  checkReach(where.host, config);
  const joinAnew = () => restartLost(call, where.port);
  const runtime = await opened(call, settings, options, { isPatient: restarted !== undefined, onLost: joinAnew });
  try {
    tellRepairs(runtime, settings.home, terminal);
    const app = await listening(call, runtime, settings, where);
    where.port = boundAddress(app.server).port;
    restartOnCrash(call, app, restarted?.crashes ?? []);
    await serveUntilStopped(call, app, runtime, config);
    return EXIT.done;
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

/** The home itself, or the engine of which it is a working copy. */
async function opened(
  call: Invocation,
  settings: Settings,
  options: ServeOptions,
  ports: Pick<EngineHomePorts, "isPatient" | "onLost">,
): Promise<Runtime> {
  const engine = engineOf(settings, options);
  if (engine === undefined) return openHome(call, settings);
  const { openEngineHome } = await import("../home/engine-home.ts");
  return openEngineHome(call, settings, { ...options, ...ports, engine });
}

/** What this host had may be another's by now: everything that it does ends at once, and it begins anew. */
function restartLost({ terminal }: Invocation, port: number): void {
  terminal.say(
    `${terminal.errPaint.red("✗")} The engine was out of reach for 8 s, so that other hosts may have taken over: everything was stopped here. This host joins again as soon as the engine answers.`,
  );
  restart(process, { port, crashes: [] });
  process.exit(EXIT.failed);
}

async function listening(
  call: Invocation,
  runtime: Runtime,
  settings: Settings,
  where: { host: string; port: number },
): Promise<FastifyInstance> {
  // The framework is loaded for this command alone.
  const [{ buildServer }, { createLogger }] = await Promise.all([
    import("../../server/server.ts"),
    import("../../server/logs.ts"),
  ]);
  const token = tokenOf(settings.home);
  const isTerminal = call.terminal.stderr.isTTY === true;
  const webDir = join(call.packageRoot, "dist", "web");
  const app = await buildServer({
    runtime,
    settings,
    token,
    folder: call.terminal.cwd,
    logger: createLogger({ settings, secrets: [token], isTerminal }),
    ...(existsSync(join(webDir, "index.html")) && { webDir }),
  });
  try {
    await app.listen(where);
  } catch (error) {
    await app.close();
    if (!(error instanceof Error) || !("code" in error)) throw error;
    const why = error.code === "EADDRINUSE" ? "is taken" : `cannot be used (${String(error.code)})`;
    throw new Refusal(`Port ${where.port} on ${where.host} ${why}. Stop the program that holds it, or pass --port.`);
  }
  return app;
}

/** After an error that nobody caught: the server restarts by itself, unless it is stopping or crashes too often. */
function restartOnCrash({ terminal }: Invocation, app: FastifyInstance, before: readonly number[]): void {
  const { port } = boundAddress(app.server);
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => (isStopping = true));
  onCrash(process, (error, file) => {
    const crashes = isStopping ? undefined : crashesWith(Date.now(), before);
    const recorded = file === undefined ? "" : ` It is recorded in ${file}.`;
    const next = crashes ? "The server restarts." : isStopping ? "" : "It crashed too often, so it does not restart.";
    app.log.fatal({ err: error, file }, "an uncaught error");
    terminal.say(
      `${terminal.errPaint.red("✗")} An unexpected error: ${plain(crashMessage(error))}.${recorded} ${next}`.trimEnd(),
    );
    if (crashes) restart(process, { port, crashes });
    process.exit(EXIT.failed);
  });
}

async function serveUntilStopped(
  call: Invocation,
  app: FastifyInstance,
  runtime: Runtime,
  config: ServerConfig,
): Promise<void> {
  const { terminal, json } = call;
  const at = boundAddress(app.server);
  const url = ownUrl(at, config);
  const cert = config.tls && resolve(runtime.store.root, config.tls.cert);
  runtime.store.announce({
    command: "agiraph serve",
    url,
    serves: true,
    ...(cert && { cert }),
    ...(runtime.hosting && { engine: true }),
  });
  await runtime.listen();
  for (const line of deafChannels(runtime)) terminal.say(`${terminal.errPaint.yellow("!")} ${line}`);
  const link = `${pageOrigin(at, config)}/login?once=${app.credentials.newLink().once}`;
  if (json) await terminal.printJson({ url, link, pid: process.pid });
  else await terminal.printLines([link]);
  terminal.say(`Agiraph serves ${runtime.store.root} at ${url}. The link logs your browser in, once.`);
  terminal.say(terminal.errPaint.dim(`Another link: ${commandLine(call, "token", "--link")} · Ctrl-C ends it.`));
  process.once("SIGINT", () => terminal.say("Shutting down … (Ctrl-C again quits at once)"));
  const { stopOnSignals } = await import("../../server/shutdown.ts");
  stopOnSignals({ app, runtime, logger: app.log });
  void app.agents.takeUp((id, error) => {
    terminal.say(
      `${terminal.errPaint.yellow("!")} ${id} could not continue: ${error instanceof Error ? error.message : error}`,
    );
  });
  // The process ends with a signal, and what is under way is recorded first.
  await new Promise<never>(() => {});
}

function portOf({ port }: ServeOptions, { env, config }: Settings): number {
  if (port !== undefined) return port;
  const written = env.AGIRAPH_PORT?.trim();
  if (!written) return config.server?.port ?? DEFAULT_PORT;
  if (/^\d{1,5}$/.test(written) && Number(written) <= 65_535) return Number(written);
  throw new UsageError(`AGIRAPH_PORT is "${written}"; expected a port, e.g. 4747.`);
}
