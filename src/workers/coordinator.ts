import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Mailbox } from "../mail/mailbox.ts";
import type { Model } from "../models/model.ts";
import { openNodes } from "../projections/index.ts";
import {
  COORDINATOR,
  type Entry,
  HUMAN,
  type Outcome,
  type ReplyEntry,
  type RunId,
  textOf,
  type UserEntry,
} from "../protocol/index.ts";
import { conversationFile } from "../store/paths.ts";
import { coordinatorScope, type Scope } from "../store/scope.ts";
import type { Tool } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { type CoordinationPort, checkpointTool, createWorkNodeTool, finishTool } from "../tools/work.ts";
import { type Actor, carryOut } from "./carry-out.ts";
import type { Workplace } from "./harnessed.ts";
import { pastOf } from "./past.ts";
import { coordinatorPrompt } from "./prompt.ts";

const CONVERSATION = conversationFile("run-1", COORDINATOR); // one for all runs
const ACTOR: Actor = { worker_id: COORDINATOR, node_id: null, conversation: CONVERSATION };

/** The agent's own mind: the same loop as a worker's, with more tools and another silence. */
export async function coordinate(
  run: { id: RunId; goal: string },
  team: Pick<CoordinationPort, "createNode">,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log, now } = place;
  const { project, model: modelId, tools: allowed } = now().agent.created;
  const scope = coordinatorScope({ agentDir: log.dir, runId: run.id, project });
  const model = await place.model(modelId);
  const tools = toolsFor(run.id, team, scope, model, place);
  const toolbox = new Toolbox(allowed ? tools.filter((tool) => allowed.includes(tool.spec.name)) : tools);

  const stored = await log.conversation(CONVERSATION);
  const past =
    pastOf(stored, "beginning", (entry) => entry.role === "user" && entry.run_id === run.id) ??
    (await beginRun(run, scope, model, toolbox, pastHistory(stored), place));
  const mailbox = await Mailbox.open(log, COORDINATOR, past.cursor, now);
  try {
    const job = { ...past, maxTurns: place.maxTurns, onSilence: waitOrEnd(run.id, mailbox, place) };
    return await carryOut(job, { model, toolbox, mail: () => mailbox.take() }, ACTOR, place, signal);
  } finally {
    mailbox.close();
  }
}

function toolsFor(
  run: RunId,
  team: Pick<CoordinationPort, "createNode">,
  scope: Scope,
  model: Model,
  place: Workplace,
): Tool[] {
  const { log, now } = place;
  const port: CoordinationPort = {
    ...team,
    unfinished() {
      const open = openNodes(now().board, run).map((node) => `${node.id} is ${node.status}`);
      return open.length > 0 ? `${open.join(", ")}. Wait for the news.` : null;
    },
  };
  const checkpoint = async (summary: string) => {
    await log.append({
      facts: [{ type: "worker.checkpointed", data: { worker_id: COORDINATOR, node_id: null, summary } }],
    }).durable;
  };
  const hands = place.tools(scope, ACTOR, model, place);
  return [...hands, createWorkNodeTool(port), checkpointTool({ checkpoint }), finishTool(port)];
}

async function beginRun(
  run: { id: RunId; goal: string },
  scope: Scope,
  model: Model,
  toolbox: Toolbox,
  before: Entry[],
  { log, now, prompts, today }: Workplace,
) {
  const [soul, memory, rules] = await Promise.all([
    readFile(join(log.dir, "SOUL.md"), "utf8"),
    readFile(join(log.dir, "MEMORY.md"), "utf8"),
    prompts("operating-rules"),
  ]);
  const brief = { soul, goal: run.goal, today: today(), memory, rules, files: scope.describe() };
  const system = coordinatorPrompt(brief, model, toolbox.specs);
  const cursor = now().seq;
  const first: UserEntry = { role: "user", from: HUMAN, content: run.goal, run_id: run.id, upto: cursor };
  const entries: Entry[] = [{ role: "system", content: system }, first];
  await log.append({ entries: { file: CONVERSATION, entries } }).durable;
  return { system, history: [...before, first], turn: 1, cursor };
}

function pastHistory(stored: Awaited<ReturnType<Workplace["log"]["conversation"]>>): Entry[] {
  return pastOf(stored, "beginning", () => true)?.history ?? [];
}

/**
 * Silence while the team works is patience: wait for the news, at no cost. Silence with nothing under way is asked
 * about once; a second time the words themselves are the answer.
 */
function waitOrEnd(run: RunId, mailbox: Mailbox, { log, now }: Workplace) {
  let idleSilences = 0;
  return async (reply: ReplyEntry, signal: AbortSignal): Promise<Outcome | UserEntry[]> => {
    if (openNodes(now().board, run).length > 0) {
      idleSilences = 0;
      const who = { worker_id: COORDINATOR, node_id: null };
      await log.append({ facts: [{ type: "worker.waiting", data: { ...who, for: "news" } }] }).durable;
      await mailbox.arrived(signal);
      await log.append({ facts: [{ type: "worker.busy", data: who }] }).durable;
      return mailbox.take();
    }
    const news = mailbox.take();
    if (news.length > 0) return news;
    idleSilences += 1;
    if (idleSilences > 1) return { kind: "finished", summary: textOf(reply) };
    const content = "You called no tool and nothing is under way. If the goal is met, call finish; otherwise go on.";
    return [{ role: "user", from: "agiraph", content }];
  };
}
