import type { FastifyInstance } from "fastify";
import type { AgentId } from "../protocol/index.ts";
import { DrainingError } from "../runtime/draining.ts";
import type { Hosting } from "../runtime/hosting.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { isAgentId } from "../store/paths.ts";
import { CarriedRequests } from "./carried-requests.ts";

/** How often the agent may have moved on just when it was asked for. */
const TRIES = 3;

/**
 * Where agents belong to the hosts of an engine: a request for one is carried out by the host that has it. One that
 * nobody has is opened here, before its route.
 *
 * HOSTED-1. Nothing is read or done by a route before the agent is this host's.
 * HOSTED-2. A request is carried to another host at most once; what certainly was not carried out is tried again.
 */
export function registerHostedAgents(
  app: FastifyInstance,
  runtime: Pick<Runtime, "agent" | "isDraining" | "opened">,
  hosting: Hosting,
): void {
  const requests = new CarriedRequests(app);
  hosting.answer(requests.carryOut);
  // A host that is to be emptied takes nothing new.
  const instead = async () => (runtime.isDraining ? hosting.another() : undefined);
  app.addHook("preValidation", async (request, reply) => {
    const id = agentIn(request.params, request.routeOptions.url);
    const isNew = request.method === "POST" && request.routeOptions.url === "/agents" && runtime.isDraining;
    if (isNew && !request.carried) {
      const other = await hosting.another();
      if (!other) throw new DrainingError("the new agent");
      return requests.ask(hosting, other, request, reply);
    }
    if (id === undefined || request.headers.upgrade !== undefined) return;
    for (let left = TRIES; ; left--) {
      try {
        const owner = runtime.opened(id) ? undefined : ((await hosting.ownerOf(id)) ?? (await instead()));
        if (owner === undefined || request.carried) return await openHere(runtime, id);
        return await requests.ask(hosting, owner, request, reply);
      } catch (error) {
        if (left === 0 || !hasMoved(error)) throw error;
      }
    }
  });
}

async function openHere(runtime: Pick<Runtime, "agent">, id: AgentId): Promise<void> {
  await runtime.agent(id).catch((error: unknown) => {
    // What else is wrong with it, its route says as in any home.
    if (hasMoved(error)) throw error;
  });
}

/** Nothing was done: another host has it now, or had it a moment ago. */
function hasMoved(error: unknown): boolean {
  return error instanceof Error && ["DrainingError", "ElsewhereError", "NotCarriedError"].includes(error.name);
}

/** The agent that a route is about, also as the record of meshes. */
function agentIn(params: unknown, route = ""): AgentId | undefined {
  if (!/^\/(?:agents|meshes)\/:id(?:\/|$)/.test(route)) return undefined;
  const id = typeof params === "object" && params !== null && "id" in params ? String(params.id) : "";
  return isAgentId(id) ? id : undefined;
}
