import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { Runtime } from "../runtime/runtime.ts";

export interface ShutdownPorts {
  app: Pick<FastifyInstance, "close" | "server">;
  runtime: Pick<Runtime, "close">;
  logger: Pick<FastifyBaseLogger, "info" | "error">;
  /** The process itself, unless a test says otherwise. */
  process?: Pick<NodeJS.Process, "on" | "off" | "exit">;
  /** All of it takes no longer. */
  withinMs?: number;
  /** Requests under way have this long to end. */
  requestsEndWithinMs?: number;
}

const WITHIN_MS = 10_000;
const REQUESTS_END_WITHIN_MS = 3_000;

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;
type ShutdownSignal = keyof typeof SIGNALS;

/**
 * Shuts the server down on SIGTERM and SIGINT.
 *
 * SHUTDOWN-1. First no new requests are accepted and open ones are finished; then workers are stopped, their work is
 *     recorded, and the home is closed. Agents at work continue at the next start. Exit code 0.
 * SHUTDOWN-2. It takes at most `withinMs`. What has not ended by then is left as after a crash: nothing that was
 *     acknowledged is lost. Exit code 1.
 * SHUTDOWN-3. A second signal exits at once.
 *
 * Returns a function that stops listening for signals.
 */
export function stopOnSignals({
  app,
  runtime,
  logger,
  process: self = process,
  withinMs = WITHIN_MS,
  requestsEndWithinMs = REQUESTS_END_WITHIN_MS,
}: ShutdownPorts): () => void {
  let isStopping = false;
  const onSignal = (signal: ShutdownSignal) => {
    if (isStopping) {
      self.exit(SIGNALS[signal]);
      return;
    }
    isStopping = true;
    logger.info({ signal }, "stopping");
    const late = setTimeout(() => {
      logger.error(`not everything ended within ${withinMs / 1000} s; the rest resumes at the next start`);
      self.exit(1);
    }, withinMs);
    stop().then(
      () => {
        clearTimeout(late);
        logger.info("stopped");
        self.exit(0);
      },
      (error: unknown) => {
        clearTimeout(late);
        logger.error({ err: error }, "stopping failed");
        self.exit(1);
      },
    );
  };

  const stop = async () => {
    await finishAndClose(app, requestsEndWithinMs);
    await runtime.close();
  };

  for (const signal of Object.keys(SIGNALS)) self.on(signal, onSignal);
  return () => {
    for (const signal of Object.keys(SIGNALS)) self.off(signal, onSignal);
  };
}

/** Accepts nothing new, and finishes open requests; a client that has no response within this time is let go. */
export async function finishAndClose(app: ShutdownPorts["app"], withinMs: number): Promise<void> {
  // A client with its response does not keep a connection for the next request.
  app.server.keepAliveTimeout = 1;
  app.server.keepAliveTimeoutBuffer = 0;
  // A client that is still downloading does not keep the others waiting.
  const cut = setTimeout(() => app.server.closeAllConnections(), withinMs);
  await app.close().finally(() => clearTimeout(cut));
}
