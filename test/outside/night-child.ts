import { createInterface } from "node:readline";
import { z } from "zod";
import { loadSettings } from "../../src/runtime/config/settings.ts";
import { inboxOf } from "../../src/runtime/human/inbox.ts";
import { LoginBroker } from "../../src/runtime/logins/login-broker.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { until } from "../../src/testing/index.ts";
import { leapingClock } from "./leaping-clock.ts";

/**
 * One agent in a process of its own, to be killed, with a clock that leaps: `node night-child.ts PLAN`. With a goal it
 * makes the agent, else it takes up the one it finds. Every fact is a line of JSON; it ends when the agent has.
 */
const plan = z
  .object({
    home: z.string(),
    goal: z.string().optional(),
    /** How far its clock is ahead, in milliseconds. */
    ahead: z.number(),
    /** Where tokens are renewed, whatever their vendor. */
    tokens: z.string(),
    env: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(process.argv[2] ?? ""));

const { home, goal, ahead, tokens, env } = plan;
const clock = leapingClock(ahead);
const settings = await loadSettings({ home }, env, home);
const fetchTokens: typeof fetch = (_, init) => fetch(tokens, init);
const logins = new LoginBroker({ home, env, clock, fetch: fetchTokens });
const runtime = await openRuntime(settings, { clock, logins });
runtime.subscribe((fact) => console.log(JSON.stringify(fact)));

const order = z.union([
  z.object({ leap: z.number() }),
  z.object({ answer: z.string(), question: z.string() }),
  z.object({ ask: z.literal("inbox") }),
]);
const [there] = await runtime.store.agents();
const model = settings.config.model ?? "";
const agent =
  goal === undefined && there ? await runtime.agent(there) : await runtime.create({ goal: goal ?? "", model });

async function carryOut(line: string): Promise<void> {
  const given = order.parse(JSON.parse(line));
  if ("leap" in given) clock.leap(given.leap);
  if ("answer" in given) await agent.respond(given.answer, given.question);
  if ("ask" in given) console.log(JSON.stringify({ type: "inbox", data: inboxOf([agent.now]) }));
}
// The process that started it is gone when its words end.
createInterface({ input: process.stdin })
  .on("line", (line) => void carryOut(line))
  .on("close", () => process.exit(1));

if (goal === undefined) await agent.start("recovered");
await until(agent, ({ agent: { status } }) => status === "completed" || status === "failed");
await runtime.close();
process.exit(0);
