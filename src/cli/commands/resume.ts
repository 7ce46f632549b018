import { type AgentStatus, isAtWork } from "../../projections/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { NewModels } from "../../runtime/model-change.ts";
import { findAgent } from "../../runtime/views/find-agent.ts";
import { nodeDisk } from "../../store/disk/node-disk.ts";
import { requireHome } from "../../store/home/home.ts";
import { type ExitCode, Refusal, UnusableModel } from "../exit-code.ts";
import { detach, flags, isDetached, tellParent } from "../home/detached.ts";
import { settingsOf } from "../home/look.ts";
import { followed, openHome } from "../home/open-home.ts";
import { resumedModels } from "../home/resumed-models.ts";
import { runningServer } from "../home/running-server.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { watchTeam } from "../live/watch-team.ts";
import { waitsForTriggers } from "../wording/resting.ts";
import { listenForOthers, tellRepairs } from "./run.ts";

export interface ResumeOptions {
  model?: string;
  workerModel?: string;
  budget?: number;
  budgetTokens?: number;
  detach?: boolean;
  unsafeNoSandbox?: boolean;
}

export async function resume(call: Invocation, word: string, options: ResumeOptions): Promise<ExitCode> {
  const { terminal } = call;
  const settings = await settingsOf(call, options);
  requireHome(nodeDisk, settings.home);
  if (options.detach && !isDetached(terminal.env)) {
    const { model, workerModel, budget, budgetTokens, unsafeNoSandbox } = options;
    const given = {
      model,
      "worker-model": workerModel,
      budget,
      "budget-tokens": budgetTokens,
      "unsafe-no-sandbox": unsafeNoSandbox,
    };
    return detach(call, ["resume", word, ...flags(given)], "");
  }
  const server = options.unsafeNoSandbox ? undefined : await runningServer(settings);
  if (server) {
    const { resumeServed } = await import("../home/run-served.ts");
    const more = { budget_usd: options.budget, budget_tokens: options.budgetTokens };
    return resumeServed(call, server, word, more, (created) => resumedModels(options, settings, created));
  }
  const runtime = await openHome(call, followed(settings));
  try {
    const found = await findAgent(runtime.store, word);
    const { id, status, created } = found.agent;
    if (created.meshes)
      throw new Refusal(
        `${created.name} (${id}) is the record of meshes, which run in a server. Start them: tx start --project ${created.project}`,
      );
    if (status === "completed" && !waitsForTriggers(found)) {
      throw new Refusal(
        `${created.name} (${id}) is completed; there is nothing to continue. Its result: ${commandLine(call, "show", id)}`,
      );
    }
    const agent = await runtime.agent(id);
    tellRepairs(runtime, settings.home, terminal);
    const { seq } = agent.log;
    const listening = listenForOthers(runtime);
    await withModels(call, agent, resumedModels(options, settings, created));
    if (status === "completed") {
      if (options.budget ?? options.budgetTokens)
        throw new Refusal(
          `${created.name} (${id}) is completed: it waits for its triggers, so a budget changes nothing.`,
        );
      agent.keepTime();
      if (isDetached(terminal.env)) tellParent({ id, name: created.name });
      return await watchTeam(agent, seq, call, [listening], "for_triggers");
    }
    await agent.start(reasonFor(status), { budget_usd: options.budget, budget_tokens: options.budgetTokens });
    terminal.say(terminal.errPaint.dim(`Agent: ${created.name} (${id}) goes on with ${agent.now.agent.created.model}`));
    if (isDetached(terminal.env)) tellParent({ id, name: created.name });
    return await watchTeam(agent, seq, call, [listening]);
  } finally {
    await runtime.close();
  }
}

/** Whoever still counts as working, or never got that far, was killed: the home is ours, so nobody works on it. */
function reasonFor(status: AgentStatus): "recovered" | "resumed" {
  return isAtWork(status) || status === "idle" ? "recovered" : "resumed";
}

async function withModels({ terminal }: Invocation, agent: Agent, models: NewModels): Promise<void> {
  const before = agent.now.agent.created;
  if (models.model === undefined && models.worker_model === undefined) return;
  try {
    await agent.changeModels(models);
  } catch (error) {
    if (error instanceof Error && error.name !== "Error") throw error;
    throw new UnusableModel(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const { model } = agent.now.agent.created;
  if (model !== before.model)
    terminal.say(
      `${terminal.errPaint.yellow("!")} ${before.name} had ${before.model}. To go back: --model ${before.model}`,
    );
}
