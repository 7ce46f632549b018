import { z } from "zod";
import { contractSchema } from "../protocol/index.ts";
import { defineTool, hidden, refusal, type Tool, type ToolOutput } from "./tool.ts";
import { LONGEST_TASK, PERSONS_NAME } from "./work.ts";

/** What the coordinator may do with its team; the runtime implements it and answers in words. */
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
  /** What the coordinator has running in the background, and what to do about it, or null. */
  running(): string | null;
}

const name = z.string().trim().regex(PERSONS_NAME, "a person's name, e.g. Alice").describe("e.g. Alice");
const model = z.string().optional().describe("provider/model");
const program = z.string().optional();
const tools = z.array(z.string()).optional();
/** What a stage may be given, by name; the whole of it would stand in every request twice. */
const CONTRACT =
  "max_iterations_per_node, timeout_seconds, checkpoint_policy (all_must_complete, majority, any), max_stages";
const contract = contractSchema.partial().meta({ short: CONTRACT }).optional();

const newWorker = z.object({
  name,
  type: z.enum(["harnessed", "autonomous"]).optional(),
  identity: z.string().default(""),
  model,
  program,
  tools,
  memory: z.string().max(8000).default(""),
});
export type NewWorker = z.infer<typeof newWorker>;

const toCancel = z.object({ node_id: z.string(), reason: z.string().min(1).max(2000) });
const nodeChange = z.object({
  node_id: z.string(),
  task: z.string().min(1).max(LONGEST_TASK).optional(),
  deliverables: z.array(z.string().min(1)).optional(),
  checks: z.array(z.string().min(1)).optional(),
});
export type NodeChange = Omit<z.infer<typeof nodeChange>, "node_id">;

const reconvening = z.object({
  assessment: z.string().min(1),
  retire: z.array(z.string()).default([]).describe("Names."),
  briefs: z.record(z.string(), z.string()).default({}).describe("By name."),
  next: z.string().min(1).max(80).optional(),
  contract,
});
export type Reconvening = z.infer<typeof reconvening>;

const stageOfRoles = z.object({
  name: z.string().min(1),
  roles: z
    .array(
      z.object({
        name,
        title: z.string().min(1),
        prompt: z.string().min(1).describe("The whole brief."),
        deliverables: z.array(z.string().min(1)).default([]),
        refs: z.record(z.string(), z.string()).default({}),
        not_by: z.array(z.string()).default([]),
        model,
        program,
        tools,
      }),
    )
    .min(1),
  contract: contract.unwrap().meta({ short: "As in reconvene." }).optional(),
});
export type StageOfRoles = z.infer<typeof stageOfRoles>;

/** Whether a coordinator that ends a run without saying what it learned is asked for it. */
export interface ReflectionPort {
  /** True at most once a run. */
  asksBeforeEnd(): boolean;
}

/** Which files of the run are its result, or what is wrong with them. */
export type ResultsPort = (named: readonly string[]) => Promise<{ files: string[] } | { problem: string }>;

export function coordinationTools(port: CoordinationPort, results: ResultsPort, reflection?: ReflectionPort): Tool[] {
  return [
    ...boardTools(port),
    ...stageTools(port),
    endingTool("finish", "summary", port, results, reflection),
    hidden(endingTool("conclude", "output", port, results, reflection)),
  ];
}

/** Who does what. */
function boardTools(port: CoordinationPort): Tool[] {
  return [
    defineTool({
      name: "spawn_worker",
      description: `Hire a worker where it matters who does the work; otherwise they are hired as needed.${programsIn(port)}`,
      repeatable: false,
      parameters: newWorker,
      run: (order) => port.spawn(order),
    }),
    defineTool({
      name: "assign_worker",
      description:
        'Give a node to a worker, or to "human". One that was begun or has failed changes hands with its files.',
      repeatable: true,
      parameters: z.object({ node_id: z.string(), worker_id: z.string() }),
      run: ({ node_id, worker_id }) => port.assign(node_id, worker_id),
    }),
    defineTool({
      name: "cancel_node",
      description: "End a node that is no longer needed, with its sub-nodes; what depends on it does not begin.",
      repeatable: true,
      parameters: toCancel,
      run: ({ node_id, reason }) => port.cancel(node_id, reason),
    }),
    defineTool({
      name: "update_node",
      description: "Change the task, deliverables or checks of a node that is not published. Its worker is told.",
      repeatable: true,
      parameters: nodeChange,
      run: ({ node_id, ...change }) => port.update(node_id, change),
    }),
    defineTool({
      name: "check_board",
      description: "All nodes and workers. You are told what changes, so you rarely need it.",
      repeatable: true,
      readOnly: true,
      parameters: z.object({
        from: z.int().positive().optional().describe("Number of the first node."),
      }),
      run: async ({ from }) => port.board(from),
    }),
  ];
}

function stageTools(port: CoordinationPort): Tool[] {
  return [
    defineTool({
      name: "reconvene",
      description:
        "End the stage once its contract is met: what the published results mean, who goes, who gets a new brief. Then create the next nodes, or finish.",
      repeatable: true,
      parameters: reconvening,
      run: (order) => port.reconvene(order),
    }),
    defineTool({
      name: "launch_roles",
      description:
        "Begin a stage with roles: each gets a worker and a node. A name you used before keeps its conversation; people you do not name are retired.",
      repeatable: false,
      parameters: stageOfRoles,
      run: (stage) => port.launch(stage),
    }),
    hidden(
      defineTool({
        name: "check_stage_status",
        description: "See who in the current stage has finished.",
        repeatable: true,
        readOnly: true,
        parameters: z.object({}),
        run: async () => port.stageStatus(),
      }),
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

/** Asked of a coordinator that did not say what the run taught it; also how it is known that it was asked. */
export const WHAT_DID_YOU_LEARN = "Before the run ends: what did it teach you that a later run should know?";

const answer = z.string().min(1);
const ending = {
  files: z.array(z.string().min(1).max(1000)).max(100).optional().describe("e.g. output/report.md"),
  learned: z.string().max(4000).optional().describe("What a later run should know; kept in your memory."),
};
const endings = {
  summary: z.object({ summary: answer, ...ending }),
  output: z.object({ output: answer, ...ending }),
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
    description: `End the run when the goal is met. The ${field} answers it; files name the result.`,
    repeatable: true,
    parameters: endings[field],
    async run({ files = [], learned, ...words }) {
      const why = port.unfinished() ?? port.running();
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

/** For a coordinator whose team changes a repository. */
export function revertNodeTool(revert: (node: string, why: string) => Promise<ToolOutput>): Tool {
  return defineTool({
    name: "revert_node",
    description: "Take what a node published out of the team's branch again. To have it done otherwise, create a node.",
    repeatable: false,
    parameters: z.object({ node_id: z.string(), reason: z.string().min(1).max(2000) }),
    run: ({ node_id, reason }) => revert(node_id, reason),
  });
}
