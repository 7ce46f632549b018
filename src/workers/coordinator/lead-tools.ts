import { nodeNamed } from "../../projections/index.ts";
import { COORDINATOR, type Entry, type RunId } from "../../protocol/index.ts";
import { namedResults } from "../../store/run/results.ts";
import {
  type CoordinationPort,
  coordinationTools,
  type ReflectionPort,
  revertNodeTool,
  WHAT_DID_YOU_LEARN,
} from "../../tools/coordination.ts";
import { askHumanTool, type HumanPort } from "../../tools/human.ts";
import { type MailPort, mailTools } from "../../tools/mail.ts";
import { scheduleTools } from "../../tools/schedule.ts";
import { hidden, refusal, setAside, type Tool } from "../../tools/tool.ts";
import { Toolbox, type Tools } from "../../tools/toolbox.ts";
import { type CheckpointPort, checkpointTool, createWorkNodeTool } from "../../tools/work.ts";
import type { Past } from "../loop/past.ts";
import { PATIENT_IN_CYCLES, type RepeatPorts, withRepeatGuard } from "../loop/repeat-guard.ts";
import { onlyThese } from "../node-tools.ts";
import { keepLesson } from "../worker-memory.ts";
import type { Colleagues, Workplace } from "../workplace.ts";
import { isInfinite } from "./cycles.ts";
import { LEAD } from "./run-start.ts";

/** Seed 002 §7.2, at every checkpoint. */
const REFLECT = "Reflect on what you learned: write lasting insights to memory with memory_write.";

/** What the coordinator may ask of its team. */
export interface TeamPort extends CoordinationPort, Colleagues {}

/** What differs between a coordinator that is a model in our loop and one that is a program. */
export interface LeadPorts {
  /** Files, shell, web and memory. */
  baseTools: readonly Tool[];
  mail: Pick<MailPort, "waiting" | "arrived">;
  human: HumanPort;
  /** The cycle of an infinite agent is over. */
  endCycle(signal: AbortSignal): Promise<string>;
}

export function leadTools(
  run: { id: RunId; goal: string },
  team: TeamPort,
  { baseTools, mail, human, endCycle }: LeadPorts,
  reflection: ReflectionPort,
  workplace: Workplace,
): Tool[] {
  const checkpoint: CheckpointPort["checkpoint"] = async (summary, call, signal, learned) => {
    // Before the fact: when the call is repeated after a crash, both are there, once.
    const notice = learned?.trim() ? await keepLesson(run, learned, workplace) : "";
    const data = { worker_id: COORDINATOR, node_id: null, summary, ...(call && { call_id: call.id }) };
    // Repeated after a crash, it is on record already.
    if (!call || workplace.pending().agent.checkpoint !== call.id)
      await workplace.log.append({ facts: [{ type: "worker.checkpointed", data }] }).durable;
    const said = isInfinite(workplace)
      ? await endCycle(signal)
      : `Recorded. ${learned?.trim() ? "" : `${REFLECT} `}Go on.`;
    return [notice, said].filter(Boolean).join("\n\n");
  };
  return [
    ...baseTools,
    createWorkNodeTool(
      { createNode: (order) => team.createNode(LEAD, order) },
      workplace.repository ? "repository" : "files",
    ),
    ...mailTools({ ...mail, send: (to, content) => team.send(COORDINATOR, to, content) }),
    askHumanTool(human),
    ...coordinationTools(team, (named) => namedResults(workplace.pending(), workplace.log.dir, named), reflection),
    ...revertTools(workplace),
    // Few of them have triggers but infinite agents; what they schedule says how to cancel it.
    ...scheduleTools(workplace.schedule(COORDINATOR), "coordinator's").map((tool) =>
      tool.spec.name === "list_triggers" && !isInfinite(workplace) ? hidden(tool) : tool,
    ),
    // A finite agent has no cycle that it could end.
    isInfinite(workplace) ? checkpointTool({ checkpoint }, true) : setAside(checkpointTool({ checkpoint }, true)),
  ];
}

function revertTools({ repository, now }: Workplace): Tool[] {
  if (!repository) return [];
  const revert = async (name: string, why: string) => {
    const node = nodeNamed(now().board, name);
    if (!node) return refusal(`There is no node "${name}".`);
    const { ok, said } = await repository.revert(node.id, why, COORDINATOR);
    return ok ? said : refusal(said);
  };
  return [revertNodeTool(revert)];
}

/** Limits tools to those that this agent was given, and adds those of MCP servers. */
export async function leadToolbox(
  workplace: Workplace,
  repeats: RepeatPorts,
): Promise<(tools: readonly Tool[]) => Tools> {
  const allowed = workplace.now().agent.created.tools;
  const foreign = await workplace.foreignTools(LEAD, workplace);
  const always = [
    "finish",
    ...(isInfinite(workplace) ? ["checkpoint"] : []),
    // It changes the repository by its nodes alone.
    ...(workplace.repository ? ["create_work_node", "check_messages"] : []),
  ];
  return (tools) => {
    const toolbox = new Toolbox(onlyThese(tools, allowed, always), () => onlyThese(foreign(), allowed, []));
    return withRepeatGuard(toolbox, isInfinite(workplace) ? { ...repeats, patient: PATIENT_IN_CYCLES } : repeats);
  };
}

/** A shorter run has hardly taught anything that is worth another model call. */
const TURNS_THAT_TEACH = 20;

/** Asks once in a run, before its end, what was learned. After a crash the conversation shows whether it was asked. */
export function reflectionOn(run: RunId, begun: Past | undefined, { pending }: Workplace): ReflectionPort {
  const calls = () => pending().spending.by_worker[COORDINATOR]?.calls ?? 0;
  const before = calls() - (begun ? begun.turn - 1 : 0);
  const isAsked = (entry: Entry) => entry.role === "tool" && entry.content.startsWith(WHAT_DID_YOU_LEARN);
  const history = begun?.history ?? [];
  const start = history.findLastIndex((entry) => entry.role === "user" && entry.run_id === run);
  let asked = history.slice(Math.max(start, 0)).some(isAsked);
  return {
    asksBeforeEnd() {
      if (asked || calls() - before < TURNS_THAT_TEACH) return false;
      asked = true;
      return true;
    },
  };
}
