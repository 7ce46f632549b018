import { createServer, type Server } from "node:http";
import { codeOf } from "../../store/disk/disk.ts";
import { type SignedChannel, type WebhookPorts, webhookHandler } from "./webhook-handler.ts";

/** A person can fix this: with another port, or by stopping the process that holds this one. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

export interface WebhookListener {
  port: number;
  channels: readonly string[];
  close(): void;
}

/** One listener for each port that a channel needs, on this machine only. */
export async function openWebhookListeners(
  channels: readonly SignedChannel[],
  ports: WebhookPorts,
): Promise<WebhookListener[]> {
  const listeners: WebhookListener[] = [];
  const byPort = Map.groupBy(
    channels.filter(({ signed }) => signed?.port !== undefined),
    ({ signed }) => signed?.port ?? 0,
  );
  try {
    for (const [port, behind] of byPort) listeners.push(await openWebhookListener(port, behind, ports));
  } catch (error) {
    for (const listener of listeners) listener.close();
    throw error;
  }
  return listeners;
}

async function openWebhookListener(
  port: number,
  channels: readonly SignedChannel[],
  ports: WebhookPorts,
): Promise<WebhookListener> {
  const handle = webhookHandler(channels, ports);
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.requestTimeout = 10_000;
  server.headersTimeout = 5_000;
  server.maxConnections = 100;
  await listening(server, port, channels);
  // Accepting a connection can fail, for example when no descriptors are left. The sender tries again.
  server.on("error", () => {});
  // A listener alone keeps no process alive.
  server.unref();
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    channels: channels.map(({ name }) => name),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listening(server: Server, port: number, channels: readonly SignedChannel[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, "127.0.0.1", resolve);
  try {
    await promise;
  } catch (error) {
    const names = channels.map(({ name }) => name).join(", ");
    const why = codeOf(error) === "EADDRINUSE" ? "is taken" : `cannot be used (${codeOf(error) ?? "unknown"})`;
    throw new WebhookError(
      `Answers through webhooks (${names}) cannot be received: port ${port} ${why}. Stop the program that holds it, or change listen.port in config.json.`,
    );
  }
}
