/**
 * A script that runs an agent to its end and follows what happens.
 *
 *   node examples/run-agent.ts "Survey the files in ./docs" [MODEL]
 */
import { defineTool, type Fact, loadSettings, openRuntime, z } from "agiraph";

const [goal = "Survey the files in ./docs", named] = process.argv.slice(2);

// A tool of this script's own, beside the built-in ones. `providers` and `channels` can be added in the same way.
const clock = defineTool({
  name: "what_time_is_it",
  description: "Tells the time of this machine.",
  parameters: z.object({}),
  repeatable: true,
  readOnly: true,
  run: async () => new Date().toString(),
});

const settings = await loadSettings({}, process.env);
const runtime = await openRuntime({ ...settings, tools: [clock] });
try {
  const model = named ?? (await runtime.catalog.chooseDefault()).model;
  const agent = await runtime.create({ goal, model, project: process.cwd() });
  runtime.subscribe((fact) => console.log(lineOf(fact)));
  await agent.idle();
  const { status, outcome } = agent.now.agent;
  console.log(status, outcome);
  if (status !== "completed") process.exitCode = 1;
} finally {
  // Closes everything: agents, the home, and the tools that were added.
  await runtime.close();
}

/** A fact is typed by its name: the fields of `data` are known in each case. */
function lineOf({ seq, type, data }: Fact): string {
  switch (type) {
    case "node.created":
      return `${seq} ${type}: ${data.task}`;
    case "tool.called":
      return `${seq} ${type}: ${data.worker_id} calls ${data.tool}`;
    case "model.responded":
      return `${seq} ${type}: ${data.usage.input} tokens in, ${data.usage.output} out`;
    default:
      return `${seq} ${type}`;
  }
}
