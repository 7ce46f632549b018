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
const program = z
  .string()
  .optional()
  .describe("A program to hire instead of a model of ours; as spawn_worker names them.");
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

/** Which files of the run are meant as its result, or what is wrong with them. */
export type ResultsPort = (named: readonly string[]) => Promise<{ files: string[] } | { problem: string }>;

export function coordinationTools(port: CoordinationPort, results: ResultsPort, reflection?: ReflectionPort): Tool[] {
  return [
    defineTool({
      name: "spawn_worker",
      description: `Hire a worker when it matters who does the work; otherwise workers are hired by themselves. A strong model for open work, a cheap one for work you have spelled out.${programsIn(port)}`,
      repeatable: false,
      parameters: newWorker,
      run: (order) => port.spawn(order),
    }),
    defineTool({
      name: "assign_worker",
      description:
        'Give a node to a certain worker, or to "human". One that was begun or has failed changes hands, with its files.',
      repeatable: true,
      parameters: z.object({ node_id: z.string(), worker_id: z.string().describe("Name or id of the worker.") }),
      run: ({ node_id, worker_id }) => port.assign(node_id, worker_id),
    }),
    defineTool({
      name: "cancel_node",
      description:
        "End a node that is no longer needed, in whatever state, with its sub-nodes. Its worker is stopped and free; what depends on it does not begin.",
      repeatable: true,
      parameters: toCancel,
      run: ({ node_id, reason }) => port.cancel(node_id, reason),
    }),
    defineTool({
      name: "update_node",
      description:
        "Change a node that is not published yet: its task, deliverables or checks (withdraw one that cannot pass). Its worker is told.",
      repeatable: true,
      parameters: nodeChange,
      run: ({ node_id, ...change }) => port.update(node_id, change),
    }),
    defineTool({
      name: "check_board",
      description: "See all nodes and workers. You are told what changes, so look only when you have lost the picture.",
      repeatable: true,
      readOnly: true,
      parameters: z.object({
        from: z.int().positive().optional().describe("Show nodes from this number on, e.g. 61; for long boards."),
      }),
      run: async ({ from }) => port.board(from),
    }),
    defineTool({
      name: "reconvene",
      description:
        "End the stage once its contract is met (cancel_node what it need not wait for): read what was published, say what it means, let people go or give them a new brief. Then create the next nodes, or finish.",
      repeatable: true,
      parameters: reconvening,
      run: (order) => port.reconvene(order),
    }),
    defineTool({
      name: "launch_roles",
      description:
        "Begin a stage with roles: each gets a worker and a node at once. A name you used before keeps its conversation and gets the new brief; people you do not name are retired. Each ends its part with publish.",
      repeatable: false,
      parameters: stageOfRoles,
      run: (stage) => port.launch(stage),
    }),
    defineTool({
      name: "check_stage_status",
      description: "See who in the current stage has finished.",
      repeatable: true,
      readOnly: true,
      parameters: z.object({}),
      run: async () => port.stageStatus(),
    }),
    endingTool("finish", "summary", port, results, reflection),
    endingTool("conclude", "output", port, results, reflection),
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

const answer = z.string().min(1).describe("The answer, for the human.");
const ending = {
  files: z.array(z.string().min(1).max(1000)).max(100).optional().describe("The result, e.g. output/report.md."),
  learned: z
    .string()
    .max(4000)
    .optional()
    .describe(
      "What this run taught you that a later one should know: what worked, what did not, what your human likes. Kept in your memory. Empty if nothing.",
    ),
};

/** Models give what a schema calls required; who leaves `learned` out all the same is not refused for it. */
const endings = {
  summary: z.object({ summary: answer, ...ending }).meta({ required: ["summary", "learned"] }),
  output: z.object({ output: answer, ...ending }).meta({ required: ["output", "learned"] }),
};

function endingTool(
  toolName: string,
  field: "summary" | "output",
  port: CoordinationPort,
  results: ResultsPort,
  reflection: ReflectionPort | undefined,
): Tool {
  return defineTool({
    name: toolName,
    description: `End the run, once, when the goal is met. The ${field} answers the goal; files name the result. Refused while nodes are being worked on.`,
    repeatable: true,
    parameters: endings[field],
    async run({ files = [], learned, ...words }) {
      const why = port.unfinished();
      if (why) return { ok: false, content: `Not finished: ${why}` };
      if (learned === undefined && reflection?.asksBeforeEnd())
        return refusal(
          `${WHAT_DID_YOU_LEARN} Call ${toolName} again with it as \`learned\`, empty if there is nothing.`,
        );
      const named = files.length > 0 ? await results(files) : { files };
      if ("problem" in named) return refusal(`Not finished: ${named.problem}`);
      const lesson = learned?.trim() ? { learned: learned.trim() } : {};
      const result = named.files.length > 0 ? { files: named.files } : {};
      return {
        content: "Finished.",
        ending: { kind: "finished", summary: "summary" in words ? words.summary : words.output, ...lesson, ...result },
      };
    },
  });
}
