import { z } from "zod";
import { contractSchema } from "../protocol/index.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";
import { LONGEST_TASK } from "./work.ts";

/** What the coordinator may do with its team; the runtime stands behind it and answers in words. */
export interface CoordinationPort {
  spawn(order: NewWorker): Promise<ToolOutput>;
  /** Programs that can be hired instead of a model, with why not where they cannot. */
  programs(): readonly { name: string; about: string; missing: string | null }[];
  assign(nodeId: string, worker: string): Promise<ToolOutput>;
  cancel(nodeId: string, reason: string): Promise<ToolOutput>;
  update(nodeId: string, change: NodeChange): Promise<ToolOutput>;
  /** Board and roster, as they are: a page of them, from a node's number on if one is given. */
  board(from?: number): string;
  reconvene(order: Reconvening): Promise<ToolOutput>;
  launch(stage: StageOfRoles): Promise<ToolOutput>;
  stageStatus(): string;
  /** Why the run cannot end yet, or null. */
  unfinished(): string | null;
}

const name = z
  .string()
  .trim()
  .regex(/^\p{L}[\p{L}\p{M}' -]{0,38}$/u, "a person's name, e.g. Alice")
  .describe("A person's name, unique in the run.");
const model = z.string().optional().describe("provider/model; the team's usual one if left out.");
const program = z.string().optional().describe("A program to hire instead of a model of ours; see the guide.");
const tools = z.array(z.string()).optional().describe("Tool names to enable; all if left out.");
const contract = contractSchema.partial().optional().describe("Limits of the stage; the usual ones if left out.");

const newWorker = z.object({
  name,
  type: z.enum(["harnessed", "autonomous"]).optional().describe("autonomous: a program, which you name."),
  identity: z.string().default("").describe("Who they are and what they are good at."),
  model,
  program,
  tools,
  memory: z.string().max(8000).default("").describe("What they should know before their first node."),
});
export type NewWorker = z.infer<typeof newWorker>;

const toCancel = z.object({ node_id: z.string(), reason: z.string().min(1).max(2000) });
const nodeChange = z.object({
  node_id: z.string(),
  task: z.string().min(1).max(LONGEST_TASK).optional(),
  deliverables: z.array(z.string().min(1)).optional(),
  checks: z.array(z.string().min(1)).optional().describe("[] withdraws them."),
});
export type NodeChange = Omit<z.infer<typeof nodeChange>, "node_id">;

const reconvening = z.object({
  assessment: z.string().min(1).describe("Your analysis: what is known now, what is missing, what is next."),
  retire: z.array(z.string()).default([]).describe("Names of workers who are no longer needed."),
  briefs: z.record(z.string(), z.string()).default({}).describe("New briefs for workers who stay, by name."),
  next: z.string().min(1).max(80).optional().describe("Name of the next stage."),
  contract,
});
export type Reconvening = z.infer<typeof reconvening>;

const stageOfRoles = z.object({
  name: z.string().min(1).describe("What the stage is called, e.g. Research."),
  roles: z
    .array(
      z.object({
        name,
        title: z.string().min(1).describe("e.g. Market Analyst"),
        prompt: z.string().min(1).describe("The whole brief: what to do and what to write."),
        model,
        program,
        tools,
      }),
    )
    .min(1),
  contract,
});
export type StageOfRoles = z.infer<typeof stageOfRoles>;

/** Whether somebody who ends a run without a word of what it taught them is asked for one. */
export interface ReflectionPort {
  /** True at most once a run. */
  asksBeforeEnd(): boolean;
}

export function coordinationTools(port: CoordinationPort, reflection?: ReflectionPort): Tool[] {
  return [
    defineTool({
      name: "spawn_worker",
      description: "Hire a worker by name, with an identity, a model, tools and prepared memory of your choice.",
      guidance: `Workers are hired by themselves when work is waiting; hire one yourself when it matters who does it.
- A strong model for hard, open work; a cheap one for narrow work you have spelled out.
- They keep their memory from node to node within the run.${programsIn(port)}`,
      repeatable: false,
      parameters: newWorker,
      run: (order) => port.spawn(order),
    }),
    defineTool({
      name: "assign_worker",
      description: "Give a node to a certain worker, or to your human. They take it as soon as they are free.",
      guidance: `For a node that waits: when the worker knows something the others do not.
- One that was begun, or has failed, changes hands: whoever has it is stopped, and the new one, of any kind, goes on from its files.
- worker_id "human": your human does it. They put files into its folder and publish it; that may take long.`,
      repeatable: true,
      parameters: z.object({ node_id: z.string(), worker_id: z.string().describe("Name or id of the worker.") }),
      run: ({ node_id, worker_id }) => port.assign(node_id, worker_id),
    }),
    defineTool({
      name: "cancel_node",
      description: "End a node that is no longer needed, in whatever state, with its sub-nodes.",
      guidance: "Whoever works on it is stopped and free; its files stay. What depends on it does not begin.",
      repeatable: true,
      parameters: toCancel,
      run: ({ node_id, reason }) => port.cancel(node_id, reason),
    }),
    defineTool({
      name: "update_node",
      description: "Change task, deliverables or checks of a node that is not published, e.g. a check that cannot pass.",
      guidance: "Its worker is told.",
      repeatable: true,
      parameters: nodeChange,
      run: ({ node_id, ...change }) => port.update(node_id, change),
    }),
    defineTool({
      name: "check_board",
      description: "View all work nodes and workers and how they are doing.",
      guidance: "You are told what changes, so look only when you have lost the picture.",
      repeatable: true,
      parameters: z.object({
        from: z.int().positive().optional().describe("Show nodes from this number on, e.g. 61; for long boards."),
      }),
      run: async ({ from }) => port.board(from),
    }),
    defineTool({
      name: "reconvene",
      description: "End the current stage: say what you learned, let people go or give them a new brief.",
      guidance: `Between stages. Read the published results first, then say what they mean and what is next.
- Refused while the stage's contract is not met; to go on without what is unfinished, cancel_node it.
- Afterwards create the next nodes, or finish.`,
      repeatable: true,
      parameters: reconvening,
      run: (order) => port.reconvene(order),
    }),
    defineTool({
      name: "launch_roles",
      description: "Begin a stage with a set of roles: each gets a worker and a node at once.",
      guidance: `One call for a whole stage: diverse specialists, several of the same kind with different shares, or one alone.
- A name you used before keeps their conversation and memory and gets the new brief (and the model and tools, where you name them); people you do not name are retired.
- Each role ends its part with publish.`,
      repeatable: false,
      parameters: stageOfRoles,
      run: (stage) => port.launch(stage),
    }),
    defineTool({
      name: "check_stage_status",
      description: "See who in the current stage has finished and who has not.",
      guidance: "You are told when the stage is done; look only when you need to know earlier.",
      repeatable: true,
      parameters: z.object({}),
      run: async () => port.stageStatus(),
    }),
    endingTool("finish", "The goal is met: end the run with a summary for the human.", "summary", port, reflection),
    endingTool(
      "conclude",
      "End the collaboration with its final output, which is written to _output.md.",
      "output",
      port,
      reflection,
    ),
  ];
}

function programsIn(port: CoordinationPort): string {
  const programs = port.programs();
  const lines = programs.filter(({ missing }) => missing === null).map(({ name, about }) => `  - ${name}: ${about}`);
  const others = programs.filter(({ missing }) => missing !== null).map(({ name }) => name);
  const missing = others.length > 0 ? `\n  Not installed here: ${others.join(", ")}.` : "";
  if (lines.length === 0) return "";
  return `\n- With program you hire an agent that thinks and works by itself, with tools of its own; model is then a name that it knows, or left out.\n${lines.join("\n")}${missing}`;
}

/** What is asked of somebody who forgot to say what the run taught them; also how it is known that they were asked. */
export const WHAT_DID_YOU_LEARN = "Before the run ends: what did it teach you that a later run should know?";

/** Models give what a schema calls required; who leaves it out all the same is not refused for it. */
const endings = {
  summary: endingOf("summary"),
  output: endingOf("output"),
};

function endingOf(field: "summary" | "output") {
  return z
    .object({
      [field]: z.string().min(1).describe("The answer, for the human."),
      learned: z
        .string()
        .max(4000)
        .optional()
        .describe(
          "What this run taught you that a later one should know: what worked, what did not, what your human likes. Kept in your memory. Empty if nothing.",
        ),
    })
    .meta({ required: [field, "learned"] });
}

function endingTool(
  toolName: string,
  description: string,
  field: "summary" | "output",
  port: CoordinationPort,
  reflection: ReflectionPort | undefined,
): Tool {
  return defineTool({
    name: toolName,
    description,
    guidance: `Ends the run. Call it once, when the goal is met and the results are in files.
- The ${field} answers the goal in plain words and names the files that hold the results.
- Say in learned what a later run should know: it is written to your memory.
- Refused while nodes are still being worked on.`,
    repeatable: true,
    parameters: endings[field],
    async run({ [field]: summary = "", learned }) {
      const why = port.unfinished();
      if (why) return { ok: false, content: `Not finished: ${why}` };
      if (learned === undefined && reflection?.asksBeforeEnd())
        return refusal(
          `${WHAT_DID_YOU_LEARN} Call ${toolName} again with it as \`learned\`, empty if there is nothing.`,
        );
      const lesson = learned?.trim() ? { learned: learned.trim() } : {};
      return { content: "Finished.", ending: { kind: "finished", summary, ...lesson } };
    },
  });
}
