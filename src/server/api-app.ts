import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { errorBodySchema } from "../protocol/api/error-body.ts";
import { commandParams } from "../protocol/commands.ts";
import type { Agents } from "./agents.ts";
import type { ServerDeps } from "./deps.ts";
import { RefusedRequest } from "./refusal.ts";

/** The server as the routes see it: requests and responses have the types of their schemas. */
export type Api = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse<IncomingMessage>,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export interface RouteDeps extends ServerDeps {
  agents: Agents;
}

export const ofAgent = z.object({ id: commandParams.id });

/** Every refusal has the same form, no matter who is at fault. */
export const refusals = { "4xx": errorBodySchema, "5xx": errorBodySchema };

export function responses<S extends z.ZodType>(schema: S): { 200: S } & typeof refusals {
  return { 200: schema, ...refusals };
}

/** The part of a list that begins after an item, and where the next page begins. */
export function pageOf<T>(
  items: readonly T[],
  { after, limit }: { after?: string | undefined; limit: number },
  idOf: (item: T) => string,
): { items: T[]; next_after: string | null } {
  const at = after === undefined ? 0 : items.findIndex((item) => idOf(item) === after) + 1;
  if (after !== undefined && at === 0)
    throw new RefusedRequest(
      400,
      "bad_request",
      `after: there is no "${after.slice(0, 80)}" in this list any more. Start again without "after".`,
    );
  const shown = items.slice(at, at + limit);
  const last = shown.at(-1);
  return { items: shown, next_after: last !== undefined && at + limit < items.length ? idOf(last) : null };
}
