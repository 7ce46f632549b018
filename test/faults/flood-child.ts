import type { FastifyInstance } from "fastify";
import type { Config } from "../../src/protocol/config.ts";
import { egressProxy } from "../../src/sandbox/network/egress.ts";
import { startServer } from "../../src/testing/start-server.ts";

/** A server under floods, in a process of its own: its memory is nobody else's. Nothing catches what is thrown. */
const [home = "", facts = "0", bytes = "0", config = "{}"] = process.argv.slice(2);
const house = await startServer({ home, config: JSON.parse(config) as Config });
const agent = await house.runtime.create({ goal: "Be looked at", model: "openai-compatible/local/m" });
await agent.idle();
for (let written = 0; written < Number(facts); written += 1000)
  await agent.log.append({
    facts: Array.from({ length: Math.min(1000, Number(facts) - written) }, (_, at) => ({
      type: "human.nudge" as const,
      data: { text: `${written + at} ${"x".repeat(Number(bytes))}`, channel: "terminal" },
    })),
  }).durable;
const egress = egressProxy({ allow: ["127.0.0.1"] });
egress.server.listen(0, "127.0.0.1", () => {
  const address = egress.server.address();
  const proxy = typeof address === "object" && address ? address.port : 0;
  process.send?.({ url: house.url, proxy, agent: agent.log.id, seq: agent.log.seq });
});
process.on("message", (wanted) => {
  // A collection stops the server for as long as it takes: only where nobody measures who is answered meanwhile.
  if (wanted === "memory after a collection") globalThis.gc?.();
  const { clients } = (house.app as FastifyInstance).websocketServer;
  const waiting = [...clients].reduce((sum, { bufferedAmount }) => sum + bufferedAmount, 0);
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({ rss, used: heapUsed + external, sockets: clients.size, waiting });
});
process.on("disconnect", () => process.exit(0));
