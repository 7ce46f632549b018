import type { Situation } from "../../projections/index.ts";
import type { AgentSummary } from "../../protocol/api/agents.ts";
import type { AgentId } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { findAgent } from "../../runtime/views/find-agent.ts";
import { nodeDisk } from "../../store/disk/node-disk.ts";
import { requireHome } from "../../store/home/home.ts";
import { EXIT, type ExitCode, Refusal } from "../exit-code.ts";
import { detach, flags, isDetached, tellParent } from "../home/detached.ts";
import { LocalHome, tellRepairs } from "../home/local-home.ts";
import { lookAtAgent, settingsOf } from "../home/look.ts";
import { followed } from "../home/open-home.ts";
import type { OtherProcess } from "../home/other-process.ts";
import { reachHome } from "../home/reach-home.ts";
import { resumedModels } from "../home/resumed-models.ts";
import { AT_TERMINAL, commandLine, type Invocation } from "../invocation.ts";
import { watchTeam } from "../talk/watch-team.ts";
import { waitsForTriggers } from "../wording/resting.ts";
import { asUsageError, sourcesOf } from "../wrong-flag.ts";

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
  const here = async () => ({ local: await LocalHome.open(call, followed(settings)) });
  if (options.unsafeNoSandbox) return resumeHere(call, (await here()).local, settings, word, options);
  const reached = await reachHome<{ local: LocalHome } | Resumed>(settings, {
    there: (other) => resumeThere(call, other, settings, word, options),
    here,
  });
  if ("local" in reached) return resumeHere(call, reached.local, settings, word, options);
  return watchResumed(call, settings, reached);
}

interface Resumed {
  other: OtherProcess;
  before: Situation;
  resumed: AgentSummary;
}

async function resumeThere(
  call: Invocation,
  other: OtherProcess,
  settings: Settings,
  word: string,
  options: ResumeOptions,
): Promise<Resumed> {
  const { now } = await lookAtAgent(call, word);
  const { id, created } = now.agent;
  const { model, worker_model } = resumedModels(options, settings, created);
  const { budget: budget_usd, budgetTokens: budget_tokens } = options;
  const given = { ...(budget_usd && { budget_usd }), ...(budget_tokens && { budget_tokens }) };
  const models = { ...(model && { model }), ...(worker_model && { worker_model }) };
  const resumed = await other.client.give({ do: "resume", id, ...given, ...models }).catch(asUsage(options));
  return { other, before: now, resumed };
}

/** What no flag says, `resumedModels` takes from variables. */
function asUsage(options: ResumeOptions) {
  return asUsageError(sourcesOf(options, { model: "AGIRAPH_MODEL", worker_model: "AGIRAPH_WORKER_MODEL" }));
}

async function watchResumed(call: Invocation, settings: Settings, { other, before, resumed }: Resumed) {
  const { terminal, json } = call;
  const { created } = before.agent;
  const { whereItRuns, watchJoined } = await import("../home/run-joined.ts");
  if (created.meshes) {
    if (json) await terminal.printJson(resumed);
    terminal.say(
      `${created.name} (${resumed.id}) continues ${whereItRuns(other)}. Status: tx status --project ${created.project}`,
    );
    return EXIT.done;
  }
  const where = `Agent: ${resumed.name} (${resumed.id}) continues with ${resumed.model}, ${whereItRuns(other)}`;
  terminal.say(terminal.errPaint.dim(where));
  return watchJoined(call, settings, other, resumed, before.seq);
}

async function resumeHere(
  call: Invocation,
  local: LocalHome,
  settings: Settings,
  word: string,
  options: ResumeOptions,
): Promise<ExitCode> {
  const { terminal } = call;
  const { runtime } = local;
  let own: AgentId | undefined;
  try {
    const found = await findAgent(runtime.store, word);
    const { id, status, created } = found.agent;
    own = id;
    checkResumable(call, found);
    const agent = await runtime.agent(id);
    tellRepairs(runtime, settings.home, terminal);
    const { seq } = agent.log;
    const listening = local.listen();
    const { model, worker_model } = resumedModels(options, settings, created);
    const models = { ...(model && { model }), ...(worker_model && { worker_model }) };
    const { budget: budget_usd, budgetTokens: budget_tokens } = options;
    if (status === "completed") {
      if (budget_usd ?? budget_tokens)
        throw new Refusal(
          `${created.name} (${id}) is completed and only waits for its triggers, so a budget would change nothing. Leave the option out.`,
        );
      if (model ?? worker_model)
        await runtime.execute({ do: "set_models", id, ...models }, AT_TERMINAL).catch(asUsage(options));
      agent.keepTime();
    } else {
      const given = { ...(budget_usd && { budget_usd }), ...(budget_tokens && { budget_tokens }) };
      await runtime.execute({ do: "resume", id, ...given, ...models }, AT_TERMINAL).catch(asUsage(options));
    }
    tellModel(call, agent, created);
    if (isDetached(terminal.env)) tellParent({ id, name: created.name });
    return await watchTeam(
      local.watched(agent),
      seq,
      call,
      [listening],
      status === "completed" ? "for_triggers" : "to_the_end",
    );
  } finally {
    await local.leave(own);
  }
}

function checkResumable(call: Invocation, found: Situation): void {
  const { id, status, created } = found.agent;
  if (created.meshes)
    throw new Refusal(
      `${created.name} (${id}) only keeps the record of meshes, which run in a server. Start them: tx start --project ${created.project}`,
    );
  if (status === "completed" && !waitsForTriggers(found))
    throw new Refusal(
      `${created.name} (${id}) is completed; there is nothing to continue. Its result: ${commandLine(call, "show", id)}. To have more done: ${commandLine(call, "send", id)} "…"`,
    );
}

function tellModel({ terminal }: Invocation, { now }: Agent, before: Situation["agent"]["created"]): void {
  const { id, status, created } = now.agent;
  if (created.model !== before.model)
    terminal.say(
      `${terminal.errPaint.yellow("!")} ${before.name} had ${before.model}. To go back: --model ${before.model}`,
    );
  if (status !== "completed")
    terminal.say(terminal.errPaint.dim(`Agent: ${created.name} (${id}) continues with ${created.model}`));
}
