import { loadSettings } from "../../src/runtime/config/settings.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { until } from "../../src/testing/index.ts";

/**
 * One agent in a process of its own, to be killed: `node house-child.ts HOME [GOAL [REPOSITORY]]`. With a goal it
 * makes the agent, which may change the repository, else it takes up the one it finds. Every fact is a line of JSON; it
 * ends when the agent has.
 */
const [home = "", goal, project] = process.argv.slice(2);
const settings = await loadSettings({ home }, { PATH: process.env.PATH }, home);
const runtime = await openRuntime(settings);
runtime.subscribe((fact) => console.log(JSON.stringify(fact)));
// The process that started it is gone.
process.stdin.resume().on("end", () => process.exit(1));

const model = settings.config.model ?? "";
const [there] = await runtime.store.agents();
const order = { goal: goal ?? "", model, ...(project !== undefined && { project, write: true as const }) };
const agent = goal === undefined && there ? await runtime.agent(there) : await runtime.create(order);
if (goal === undefined) await agent.start("recovered");
await until(agent, ({ agent: { status } }) => status === "completed" || status === "failed");
await runtime.close();
process.exit(0);
