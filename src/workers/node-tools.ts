import type { WorkerState } from "../projections/index.ts";
import { readRefTool } from "../tools/files.ts";
import { askHumanTool, type HumanPort } from "../tools/human.ts";
import { type MailPort, mailTools } from "../tools/mail.ts";
import { scheduleTools } from "../tools/schedule.ts";
import { setAside, type Tool, type ToolOutput } from "../tools/tool.ts";
import { checkpointTool, createWorkNodeTool, giveUpTool, publishTool, suggestTool } from "../tools/work.ts";
import type { ActingWorker } from "./loop/recorded-loop.ts";
import type { NodeWork } from "./node-work.ts";
import type { Colleagues, Workplace } from "./workplace.ts";

/** What the tools of a node reach: what differs between a model in our loop and a program. */
export interface NodeToolPorts {
  mail: Pick<MailPort, "waiting" | "arrived">;
  human: HumanPort;
  team: Colleagues;
}

/** What every worker on a node has, be it a model or a program: the team, the human, and the node itself. */
export function nodeTools(
  { node, self, scope, port, workplace }: NodeWork,
  { mail, human, team }: NodeToolPorts,
): Tool[] {
  const refs = Object.keys(node.spec.refs).length > 0 ? [readRefTool(scope, node.spec.refs)] : [];
  const send = (to: string, content: string) => team.send(self.worker_id, to, content);
  return [
    ...refs,
    ...mailTools({ ...mail, send }),
    askHumanTool(human),
    createWorkNodeTool({ createNode: (order) => team.createNode(self, order) }),
    suggestTool((suggestion) => team.suggest(self, suggestion)),
    checkpointTool({ checkpoint: (summary) => checkpoint(summary, self, workplace) }),
    giveUpTool(),
    publishTool(port, scope.named?.PROJECT === undefined ? "files" : "repository"),
    // Few workers have triggers; what they schedule says how to cancel it.
    ...scheduleTools(workplace.schedule(self.worker_id), "worker's").map((tool) =>
      tool.spec.name === "list_triggers" ? setAside(tool) : tool,
    ),
  ];
}

/** Tools that come with another one: without it they would have nothing to do. */
const PART_OF: Readonly<Record<string, string>> = { bash_output: "bash" };

/**
 * The tools an agent was given bind everyone in it, and a worker may be hired with fewer. What it needs to begin
 * and to end its work it always has. `mcp__SERVER` stands for all tools of a server.
 */
export function onlyThese(
  tools: readonly Tool[],
  names: readonly string[] | null | undefined,
  always: readonly string[],
  whose: "agent" | "worker" = "agent",
): readonly Tool[] {
  if (!names) return tools;
  const servers = names.filter((name) => name.startsWith("mcp__")).map((name) => `${name}__`);
  const isGiven = ({ spec: { name } }: Tool) =>
    names.includes(PART_OF[name] ?? name) ||
    names.includes(name) ||
    always.includes(name) ||
    servers.some((server) => name.startsWith(server));
  // A hidden tool is offered if it is named.
  const isMeant = ({ hidden, spec }: Tool) => (hidden === true || whose === "worker") && names.includes(spec.name);
  return tools.filter(isGiven).map((tool) => (tool.hidden && isMeant(tool) ? { ...tool, hidden: false } : tool));
}

/** Those of them that this worker may use on a node. */
export function allowedOnNode(tools: readonly Tool[], { spawned }: WorkerState, { now }: Workplace): readonly Tool[] {
  const always = ["publish", "checkpoint", "give_up", "read_ref"];
  return onlyThese(onlyThese(tools, now().agent.created.tools, always), spawned.tools, always, "worker");
}

async function checkpoint(
  summary: string,
  { worker_id, node_id }: ActingWorker,
  { log }: Workplace,
): Promise<ToolOutput> {
  await log.append({ facts: [{ type: "worker.checkpointed", data: { worker_id, node_id, summary } }] }).durable;
  return "Recorded. Put what later work will need into your memory.md. Go on; publish ends your work.";
}
