import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import { openRuntime } from "../../runtime/open-runtime.ts";
import { hang, script } from "../../testing/index.ts";
import { registerEvents } from "../event-socket.ts";
import { createLogger } from "../logs.ts";
import { stopOnSignals } from "../shutdown.ts";

/**
 * A minimal server in a separate process, for tests that end it: `POST /` is answered with the number of a fact that is
 * on disk. Its agent's model never answers. Prints its address and its agent.
 */
const [home = ""] = process.argv.slice(2);
const settings = { home, env: {}, config: {} };
const model = script(hang());
const runtime = await openRuntime(settings, {
  catalog: {
    model: async () => model,
    list: async () => [],
    programOf: () => undefined,
    chooseDefault: async () => ({ model: model.id, why: "scripted" }),
    cost: async () => 0,
    resolve: (id: string) => ({ id, contextWindow: 200_000, searchesWeb: false, note: null }),
  },
});
const agent = await runtime.create({ goal: "Be stopped", model: model.id });
const logger = createLogger({ settings });
const app = Fastify({ loggerInstance: logger, disableRequestLogging: true });
await registerEvents(app, { runtime });
app.post("/", async () => {
  const data = { worker_id: "coordinator", node_id: null, model: model.id, message: "asked" };
  const { facts, durable } = agent.log.append({ facts: [{ type: "model.warned", data }] });
  await durable;
  return { seq: facts[0]?.seq };
});
stopOnSignals({ app, runtime, logger });
await app.listen({ port: 0, host: "127.0.0.1" });
const { port } = app.server.address() as AddressInfo;
process.stdout.write(`${JSON.stringify({ port, agent: agent.log.id })}\n`);
