import type { FastifyRequest, HTTPMethods } from "fastify";
import { z } from "zod";
import { nearest } from "../../boundary/nearest.ts";
import { type Actor, VIA_HEADER, viaSchema } from "../../protocol/actor.ts";
import {
  COMMAND_ROUTES,
  type Command,
  type CommandEntry,
  type CommandName,
  commandNames,
  commandParams,
  commandParamsOf,
  commands,
} from "../../protocol/commands.ts";
import { type Api, type RouteDeps, refusals } from "../api-app.ts";
import { RefusedRequest } from "../refusal.ts";

/** The commands as routes, derived from their table: the request is the command, the response its result. */
export function commandRoutes(app: Api, { runtime }: RouteDeps): void {
  for (const name of commandNames) {
    const { summary, tag, body, result, status = 200, unchangedStatus }: CommandEntry = commands[name];
    const { method, url, params } = routeOf(name);
    app.route({
      method,
      url,
      schema: {
        summary,
        tags: [tag],
        ...(params && { params }),
        ...(body && { body }),
        response: { [status]: result, ...(unchangedStatus && { [unchangedStatus]: result }), ...refusals },
      },
      handler: async (request, reply) => {
        const command = { ...(request.body as object | null), ...(request.params as object), do: name } as Command;
        const done = await runtime.execute(command, actorOf(request));
        if (unchangedStatus && "unchanged" in done) return reply.code(unchangedStatus).send(done as never);
        const list = LISTS[name];
        if (list !== undefined && "id" in done) reply.header("location", `${list}/${done.id}`);
        return reply.code(status).send(done as never);
      },
    });
  }
}

/** Where what a command makes is found then, by its id. */
const LISTS: Partial<Record<CommandName, string>> = { create: "/agents", start_meshes: "/meshes" };

/** ` Did you mean "POST /agents/{id}/nudge"?` for a command that is nearly one, or nothing. */
export function nearestRoute(method: string, url: string): string {
  if (method === "GET") return "";
  const path = url.split("?", 1)[0] ?? "";
  const [, first = "", ...rest] = path.split("/");
  const all = Object.values(COMMAND_ROUTES);
  const beside = all.filter((each) => each.includes(` /${first}`));
  const routes = beside.length > 0 ? beside : all;
  const names = routes.flatMap((each) => /\/([a-z]+)$/.exec(each)?.[1] ?? []);
  const [near] = nearest(rest.at(-1) ?? first, names, 1);
  const route = routes.find((each) => each.endsWith(`/${near}`));
  return near === undefined || route === undefined ? "" : ` Did you mean "${route.replace(/:(\w+)/g, "{$1}")}"?`;
}

function routeOf(name: CommandName) {
  const [method = "", url = ""] = COMMAND_ROUTES[name].split(" ");
  const names = commandParamsOf(name);
  const params = names.length > 0 && z.object(Object.fromEntries(names.map((each) => [each, commandParams[each]])));
  return { method: method as HTTPMethods, url, params };
}

/** The holder of the token is the home's human; the client itself says how it connects. */
export function actorOf({ headers, carried }: FastifyRequest): Actor {
  if (carried?.actor) return carried.actor;
  const via = viaSchema.safeParse(headers[VIA_HEADER] ?? "web");
  if (!via.success)
    throw new RefusedRequest(400, "bad_request", `The header ${VIA_HEADER} is one of ${viaSchema.options.join(", ")}.`);
  return { kind: "human", via: via.data };
}
