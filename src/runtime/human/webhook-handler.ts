import type { IncomingMessage, ServerResponse } from "node:http";
import { type ReceivedIds, type ReceivedWords, receiveWebhook } from "../../mail/channels/receive-webhook.ts";
import type { CommandOf } from "../../protocol/commands.ts";
import type { Actor } from "../../protocol/index.ts";
import { isForWantOfRoom } from "../../store/disk/disk.ts";
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

export type SignedChannel = Pick<OpenChannel, "name" | "signed">;

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
