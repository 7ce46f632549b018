import { createInterface } from "node:readline";
import { loadSettings } from "../../src/runtime/config/settings.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { until } from "../../src/testing/index.ts";

/**
 * A house of agents in a process of its own, to be killed: `node parked-child.ts HOME COUNT`.
 *
 * With COUNT it makes so many agents, else it takes up those it finds. Says `listener PORT`, `parked AGENT QUESTION`, and
 * `completed` when every agent is; takes answers as lines of JSON, as from a terminal, and says `answered` or `refused`.
 */
const [home = "", count = "0"] = process.argv.slice(2);
const settings = await loadSettings({ home }, {}, home);
const runtime = await openRuntime(settings);
await runtime.listen();
console.log(`listener ${runtime.webhookListeners[0]?.port}`);

const lines = createInterface({ input: process.stdin });
// Whoever started it is gone.
lines.on("close", () => process.exit(1));
lines.on("line", async (line) => {
  const { agent_id, question_id, response } = JSON.parse(line);
  const agent = await runtime.agent(agent_id);
  await agent.respond(response, question_id, "terminal").then(
    () => console.log(`answered ${agent_id} ${question_id}`),
    () => console.log(`refused ${agent_id} ${question_id}`),
  );
});

const model = settings.config.model ?? "";
const agents = await (Number(count) > 0
  ? Promise.all(Array.from({ length: Number(count) }, (_, at) => runtime.create({ goal: `Goal ${at + 1}.`, model })))
  : Promise.all((await runtime.store.agents()).map((id) => runtime.agent(id))));
await Promise.all(
  agents.map(async (agent) => {
    const told = new Set<string>();
    void until(agent, ({ questions }) => {
      for (const id of Object.keys(questions.open)) {
        if (!told.has(id)) console.log(`parked ${agent.log.id} ${id}`);
        told.add(id);
      }
      return false;
    });
    const { status } = agent.now.agent;
    // An answer that came first has started it already.
    if (Number(count) === 0 && status !== "completed") await agent.start("recovered").catch(() => {});
    await until(agent, (now) => now.agent.status === "completed");
  }),
);
await runtime.close();
console.log("completed");
process.exit(0);
