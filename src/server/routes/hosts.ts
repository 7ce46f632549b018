import { z } from "zod";
import { copySchema } from "../../protocol/api/agents.ts";
import { drainedSchema, drainHostSchema, hostsPageSchema } from "../../protocol/api/hosts.ts";
import { isAgentId } from "../../store/paths.ts";
import { type Api, ofAgent, type RouteDeps, responses } from "../api-app.ts";
import { notFound } from "../refusal.ts";

const tags = ["server"];

/** Of a server that works from an engine, together with other hosts. */
export function hostRoutes(app: Api, { agents, runtime }: RouteDeps): void {
  const hosting = () => {
    if (!runtime.hosting) throw notFound("This server works alone. With others it is started with --engine.");
    return runtime.hosting;
  };
  app.get(
    "/hosts",
    { schema: { summary: "The machines that work from the same engine", tags, response: responses(hostsPageSchema) } },
    async () => ({ hosts: await hosting().list() }),
  );

  app.post(
    "/hosts/:host/drain",
    {
      schema: {
        summary: "Have a host finish its turns, give everything to the others and take nothing new; or undo that",
        tags,
        params: z.object({ host: z.string().min(1).max(200) }),
        body: drainHostSchema,
        response: responses(drainedSchema),
      },
    },
    async ({ params: { host }, body }) => {
      const hosts = await hosting().drain(host, body?.undo !== true);
      if (hosts.length === 0) throw notFound(`There is no host "${host}". GET /hosts lists those there are.`);
      return { hosts };
    },
  );

  app.post(
    "/copies/:id",
    { schema: { hide: true, params: ofAgent, response: responses(copySchema) } },
    async ({ params: { id } }) => {
      const isElsewhere = isAgentId(id) && !runtime.opened(id) && (await hosting().ownerOf(id)) !== undefined;
      if (isElsewhere) await hosting().copy(id);
      // Opened here, it is as the engine has it.
      else await agents.agent(id);
      return { id };
    },
  );
}
