import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { until } from "../../src/testing/index.ts";

/**
 * One agent in a process of its own, to be killed: `node board-child.ts HOME PROJECT MODEL`, with the provider's address
 * in the environment. It makes the agent, or takes up the one it finds. Every fact is a line of JSON, those of lives before too.
 */
const [home = "", project = "", model = ""] = process.argv.slice(2);
const runtime = await openRuntime({ home, env: process.env, config: {} });
runtime.subscribe((fact) => console.log(JSON.stringify(fact)));
// Whoever started it is gone.
process.stdin.resume().on("end", () => process.exit(1));
const summaries = await runtime.summaries();
const known = summaries.find(({ name }) => name === "Board");
const agent = known
  ? await runtime.agent(known.id)
  : await runtime.create({ goal: "Have an essay written.", name: "Board", model, project });
// Whoever waits for a fact to kill us may have killed the life before when it was on record already.
if (known) for (const fact of await agent.log.read({ after: 0, limit: 100_000 })) console.log(JSON.stringify(fact));
if (known && !agent.isWorking && agent.now.agent.status !== "completed") await agent.start("recovered");
await until(agent, ({ agent: { status } }) => status === "completed" || status === "failed");
await runtime.close();
process.exit(0);
