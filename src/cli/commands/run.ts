import { statSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { AgentSummary } from "../../protocol/api/agents.ts";
import type { CreateAgent } from "../../protocol/commands.ts";
import type { AgentId, Write } from "../../protocol/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { detach, flags, isDetached, tellNumbered, tellParent } from "../home/detached.ts";
import { interruptedAgents } from "../home/interrupted-agents.ts";
import { LocalHome, repairLines, tellRepairs } from "../home/local-home.ts";
import { settingsOf } from "../home/look.ts";
import { followed } from "../home/open-home.ts";
import type { OtherProcess } from "../home/other-process.ts";
import { reachHome } from "../home/reach-home.ts";
import { AT_TERMINAL, type Invocation } from "../invocation.ts";
import { type Remark, watchTeam } from "../talk/watch-team.ts";
import type { Terminal } from "../terminal.ts";
import { watchOption } from "../watch-option.ts";
import { startLines } from "../wording/repository-lines.ts";
import { asUsageError, sourcesOf } from "../wrong-flag.ts";

export interface RunOptions {
  name?: string;
  model?: string;
  workerModel?: string;
  mode?: "finite" | "infinite";
  /** Seconds. */
  every?: number;
  watch?: string;
  budget?: number;
  tools?: string[];
  project?: string;
  write?: boolean;
  base?: string;
  dirty?: "include";
  deliver?: "branch";
  detach?: boolean;
  unsafeNoSandbox?: boolean;
}

export async function run(call: Invocation, word: string, options: RunOptions): Promise<ExitCode> {
  const { terminal } = call;
  // Stdin is read only when asked for: one that stays open would hang every script.
  const goal = (word === "-" ? await text(terminal.stdin) : word).trim();
  if (goal === "") throw new UsageError('The goal is empty. Say what to achieve: agiraph run "your goal"');
  if (options.every !== undefined && options.mode !== "infinite")
    throw new UsageError("--every is for infinite agents (how long they sleep between cycles). Add --mode infinite.");
  if (options.watch !== undefined && options.mode !== "infinite")
    throw new UsageError("--watch is for infinite agents (what wakes them when it changes). Add --mode infinite.");
  if (options.tools?.length === 0)
    throw new UsageError("--tools is empty. Name some, for example read_file,web_fetch, or leave it out to allow all.");
  checkWriteOptions(options);
  const project = projectOf(terminal, options);
  const watch = options.watch === undefined ? undefined : watchOption(options.watch, project, terminal.cwd);
  if (options.detach && !isDetached(terminal.env)) {
    const { name, model, workerModel, mode, budget, tools, unsafeNoSandbox, watch: watched } = options;
    const { write, base, dirty, deliver } = options;
    const every = options.every === undefined ? undefined : `${options.every}s`;
    const flagged = {
      name,
      model,
      "worker-model": workerModel,
      mode,
      every,
      budget,
      tools: tools?.join(","),
      "unsafe-no-sandbox": unsafeNoSandbox,
      "no-write": write === false,
    };
    const given = { ...flagged, project: options.project && project, watch: watched, write, base, dirty, deliver };
    return detach(call, ["run", "-", ...flags(given)], goal);
  }
  const settings = await settingsOf(call, options);
  const order = { ...orderOf(goal, options, project), ...(watch && { watch }) };
  const asUsage = asUsageError(sourcesOf(options));
  const here = async () => ({ local: await LocalHome.open(call, followed(settings)) });
  // What its commands may do is decided by the process that works: without a sandbox it works alone.
  if (options.unsafeNoSandbox) return runHere(call, (await here()).local, settings, order, asUsage);
  const reached = await reachHome<{ local: LocalHome } | { other: OtherProcess; made: AgentSummary }>(settings, {
    there: async (other) => ({ other, made: await createThere(other, settings, order, options) }),
    here,
  });
  if ("local" in reached) return runHere(call, reached.local, settings, order, asUsage);
  const { other, made } = reached;
  terminal.say(terminal.errPaint.dim(`Model: ${made.model}`));
  const { whereItRuns, watchJoined } = await import("../home/run-joined.ts");
  terminal.say(terminal.errPaint.dim(`Agent: ${made.name} (${made.id}), ${whereItRuns(other)}`));
  tellNumbered(terminal, options.name, made.name);
  return watchJoined(call, settings, other, made, 0);
}

async function runHere(
  call: Invocation,
  local: LocalHome,
  settings: Settings,
  order: CreateAgent,
  asUsage: (error: unknown) => never,
): Promise<ExitCode> {
  const { terminal } = call;
  const { runtime } = local;
  let own: AgentId | undefined;
  try {
    tellRepairs(runtime, settings.home, terminal);
    const { model, why, note } = await runtime.order(order).catch(asUsage);
    terminal.say(terminal.errPaint.dim(`Model: ${model} (${why ?? "--model"})`));
    const listening = local.listen();
    if (note) terminal.say(note);
    if (local.signalled !== undefined) {
      terminal.say("Interrupted before it began: no agent was created.");
      return EXIT.interrupted;
    }
    const made = await runtime.execute({ do: "create", ...order, model }, AT_TERMINAL).catch(asUsage);
    const agent = await runtime.agent(made.id as AgentId);
    const { id, created } = agent.now.agent;
    own = id;
    terminal.say(terminal.errPaint.dim(`Agent: ${created.name} (${id})`));
    tellNumbered(terminal, order.name, created.name);
    if (isDetached(terminal.env)) tellParent({ id, name: created.name, notes: startLines(agent.now) });
    const interrupted = interruptedAgents(runtime.store, id, call);
    return await watchTeam(local.watched(agent), 0, call, [
      listening,
      interrupted,
      repairsOfOthers(runtime, settings.home, interrupted),
    ]);
  } finally {
    await local.leave(own);
  }
}

/** The process that does the work has other variables: what these choose is passed on to it. */
function createThere(other: OtherProcess, { env }: Settings, order: CreateAgent, options: RunOptions) {
  const model = order.model ?? env.AGIRAPH_MODEL;
  const worker_model = order.worker_model ?? env.AGIRAPH_WORKER_MODEL;
  const models = { ...(model && { model }), ...(worker_model && { worker_model }) };
  const sources = sourcesOf(options, { model: "AGIRAPH_MODEL", worker_model: "AGIRAPH_WORKER_MODEL" });
  return other.client.give({ do: "create", ...order, ...models }).catch(asUsageError(sources));
}

/** What is not chosen here is chosen by the process that does the work, from the home's config and its own keys. */
function orderOf(goal: string, options: RunOptions, project: string): CreateAgent {
  return {
    goal,
    project,
    ...(options.name && { name: options.name }),
    ...(options.model && { model: options.model }),
    ...(options.workerModel && { worker_model: options.workerModel }),
    ...(options.mode && { mode: options.mode }),
    ...(options.every && { cycle_seconds: options.every }),
    ...(options.budget && { budget_usd: options.budget }),
    ...(options.tools && { tools: options.tools }),
    ...(options.write !== undefined && { write: options.write && writeOf(options) }),
  };
}

/** How it may change the repository; without `--write` it only reads. */
function writeOf({ base, dirty, deliver }: RunOptions): Write {
  return { ...(base !== undefined && { base }), ...(dirty && { dirty }), ...(deliver && { deliver }) };
}

function checkWriteOptions({ write, base, dirty, deliver }: RunOptions): void {
  if (write) return;
  for (const [flag, value] of Object.entries({ "--base": base, "--dirty": dirty, "--deliver": deliver }))
    if (value !== undefined) throw new UsageError(`${flag} is for agents that change your repository. Add --write.`);
}

function projectOf({ cwd }: Terminal, { project }: RunOptions): string {
  const folder = resolve(cwd, project ?? ".");
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--project: there is no folder ${folder}. Name the folder of your project.`);
  return folder;
}

/** Looking at the other agents may find damage in their logs; it is reported when they have been looked at. */
async function repairsOfOthers({ store }: Runtime, home: string, looked: Remark): Remark {
  const before = store.repairs.length;
  await looked;
  return repairLines(store, home).slice(before).join("\n") || undefined;
}
