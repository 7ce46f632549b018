import { type AgentStatus, isAtWork } from "../../projections/index.ts";
import { findAgent } from "../../runtime/find-agent.ts";
import { requireHome } from "../../store/home.ts";
import { nodeDisk } from "../../store/node-disk.ts";
import { detach, flags, isDetached, tellParent } from "../detached.ts";
import { type ExitCode, Refusal } from "../exit-code.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { settingsOf } from "../look.ts";
import { followed, openHome } from "../open-home.ts";
import { waitsForTriggers } from "../resting.ts";
import { runningServer } from "../running-server.ts";
import { watchTeam } from "../watch-team.ts";
import { listenForOthers, tellRepairs } from "./run.ts";

export interface ResumeOptions {
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
    const { budget, budgetTokens, unsafeNoSandbox } = options;
    const given = { budget, "budget-tokens": budgetTokens, "unsafe-no-sandbox": unsafeNoSandbox };
    return detach(call, ["resume", word, ...flags(given)], "");
  }
  const server = options.unsafeNoSandbox ? undefined : await runningServer(settings);
  if (server) {
    const { resumeServed } = await import("../run-served.ts");
    return resumeServed(call, server, word, { budget_usd: options.budget, budget_tokens: options.budgetTokens });
  }
  const runtime = await openHome(call, followed(settings));
  try {
    const found = await findAgent(runtime.store, word);
    const { id, status, created } = found.agent;
    if (created.meshes)
      throw new Refusal(
        `${created.name} (${id}) is the record of meshes, and these run in a server. Start them: tx start --project ${created.project}`,
      );
    if (status === "completed" && !waitsForTriggers(found)) {
      throw new Refusal(
        `${created.name} (${id}) is completed; there is nothing to go on with. Its result: ${commandLine(call, "show", id)}`,
      );
    }
    const agent = await runtime.agent(id);
    tellRepairs(runtime, settings.home, terminal);
    const { seq } = agent.log;
    const listening = listenForOthers(runtime);
    if (status === "completed") {
      if (options.budget ?? options.budgetTokens)
        throw new Refusal(
          `${created.name} (${id}) is completed: it waits for its triggers, and there is nothing to pay.`,
        );
      agent.keepTime();
      if (isDetached(terminal.env)) tellParent({ id, name: created.name });
      return await watchTeam(agent, seq, call, [listening], "for_triggers");
    }
    await agent.start(reasonFor(status), { budget_usd: options.budget, budget_tokens: options.budgetTokens });
    terminal.say(terminal.errPaint.dim(`Agent: ${created.name} (${id}) goes on with ${created.model}`));
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
