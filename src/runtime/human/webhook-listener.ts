import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type ReceivedIds, type ReceivedWords, receiveWebhook } from "../../mail/channels/receive-webhook.ts";
import type { CommandOf } from "../../protocol/commands.ts";
import type { Actor } from "../../protocol/index.ts";
import { codeOf, isForWantOfRoom } from "../../store/disk/disk.ts";
import { NotFoundError } from "../../store/errors.ts";
import { HumanRefusal } from "./human-facts.ts";
import type { OpenChannel } from "./open-channels.ts";

/**
 * Receives answers by webhook: `POST /webhooks/NAME`, signed.
 *
 * WEBHOOK-1. Only POST with JSON of at most 64 KB is accepted; nothing is trusted before the signature is checked.
 * WEBHOOK-2. A message that was answered with 200 is on disk.
 * WEBHOOK-3. Every refusal is `{error: {code, message}}`; internal errors are not disclosed.
 */
export function webhookHandler(
  channels: readonly SignedChannel[],
  { execute, now, memory }: WebhookPorts,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  async function answerTo(request: IncomingMessage): Promise<WebhookAnswer> {
    const name = /^\/webhooks\/([a-z0-9_-]+)$/.exec(request.url ?? "")?.[1];
    const channel = channels.find((each) => each.name === name);
    if (!channel?.signed) return refusal(404, "not_found", "There is nothing here.");
    if (request.method !== "POST") return refusal(405, "method_not_allowed", "Use POST.");
    if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? ""))
      return refusal(415, "not_json", "The Content-Type must be application/json.");
    const body = await bodyOf(request);
    if (!body) return refusal(413, "too_large", `The body is larger than ${LARGEST_BODY} bytes.`);
    const received = receiveWebhook(body, request.headers, {
      channel: channel.name,
      secret: channel.signed.secret,
      now: now(),
      memory,
    });
    if (received.status !== 200) return refusal(received.status, received.code, received.message);
    const actor = { kind: "human", via: `webhook:${channel.name}` } as const;
    const { detail } = await execute(commandIn(received.words), actor);
    received.taken();
    return { status: 200, body: { ok: true, message: detail } };
  }

  return async (request, response) => {
    const answer = await answerTo(request).catch(refusalFor);
    response.writeHead(answer.status, {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...(answer.status === 405 && { allow: "POST" }),
      // What it still sends is not read.
      ...(!request.complete && { connection: "close" }),
    });
    response.end(JSON.stringify(answer.body));
  };
}

type SignedChannel = Pick<OpenChannel, "name" | "signed">;

export interface WebhookPorts {
  execute(command: WebhookCommand, actor: Actor): Promise<{ detail: string }>;
  now(): number;
  /** One for all listeners of a home. */
  memory: ReceivedIds;
}

/** What may come in by a webhook: an answer, or a message. */
type WebhookCommand = CommandOf<"respond"> | CommandOf<"send">;

export function commandIn(words: ReceivedWords): WebhookCommand {
  const { agent_id: id } = words;
  if ("response" in words) return { do: "respond", id, response: words.response, question_id: words.question_id };
  return { do: "send", id, message: words.message, ...(words.to !== undefined && { to: words.to }) };
}

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

const LARGEST_BODY = 64 * 1024;

/** Nothing when it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > LARGEST_BODY) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > LARGEST_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

interface WebhookAnswer {
  status: number;
  body: unknown;
}

function refusal(status: number, code: string, message: string): WebhookAnswer {
  return { status, body: { error: { code, message } } };
}

function refusalFor(error: unknown): WebhookAnswer {
  if (error instanceof HumanRefusal) return refusal(error.code === "not_found" ? 404 : 409, error.code, error.message);
  if (error instanceof NotFoundError) return refusal(404, "not_found", "There is no such agent.");
  if (isForWantOfRoom(error))
    return refusal(
      507,
      "disk_full",
      "The disk is full, so it was not recorded. Try again later, with a new signature.",
    );
  return refusal(500, "internal", "It could not be recorded. Try again, with a new signature.");
}
