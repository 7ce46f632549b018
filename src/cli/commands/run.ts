import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { CreateAgent } from "../../protocol/api.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { NewAgent, Runtime } from "../../runtime/runtime.ts";
import { allSituations } from "../../runtime/views/situations.ts";
import { type ExitCode, UnusableModel, UsageError } from "../exit-code.ts";
import { detach, flags, isDetached, tellParent } from "../home/detached.ts";
import { settingsOf } from "../home/look.ts";
import { followed, openHome } from "../home/open-home.ts";
import { runningServer } from "../home/running-server.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import type { Terminal } from "../live/terminal.ts";
import { type Remark, watchTeam } from "../live/watch-team.ts";
import { watchOption } from "../watch-option.ts";
import { count } from "../wording/format.ts";
import { plain, wrap } from "../wording/width.ts";

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
  detach?: boolean;
  unsafeNoSandbox?: boolean;
}

export async function run(call: Invocation, word: string, options: RunOptions): Promise<ExitCode> {
  const { terminal } = call;
  // Stdin is read only when asked for: one that stays open would hang every script.
  const goal = (word === "-" ? await text(terminal.stdin) : word).trim();
  if (goal === "") throw new UsageError('The goal is empty. Say what is to be achieved: agiraph run "your goal"');
  if (options.every !== undefined && options.mode !== "infinite")
    throw new UsageError("--every says how long an infinite agent sleeps between its cycles: add --mode infinite.");
  if (options.watch !== undefined && options.mode !== "infinite")
    throw new UsageError("--watch says what wakes an infinite agent when it changes: add --mode infinite.");
  if (options.tools?.length === 0)
    throw new UsageError("--tools names no tool. Name some, as in read_file,web_fetch; left out, it is all of them.");
  const project = projectOf(terminal, options);
  const watch = options.watch === undefined ? undefined : watchOption(options.watch, project, terminal.cwd);
  if (options.detach && !isDetached(terminal.env)) {
    const { name, model, workerModel, mode, budget, tools, unsafeNoSandbox, watch: watched } = options;
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
    };
    const given = { ...flagged, project: options.project && project, watch: watched };
    return detach(call, ["run", "-", ...flags(given)], goal);
  }
  const settings = await settingsOf(call, options);
  const server = options.unsafeNoSandbox ? undefined : await runningServer(settings);
  if (server) {
    const { runServed } = await import("../home/run-served.ts");
    return runServed(call, server, settings, { ...servedOrder(goal, options, project), ...(watch && { watch }) });
  }
  const runtime = await openHome(call, followed(settings));
  try {
    tellRepairs(runtime, settings.home, terminal);
    const chosen = await chooseModel(options, settings, runtime);
    if (options.tools) checkTools(options.tools, runtime);
    sayWrapped(terminal, terminal.errPaint.dim, `Model: ${chosen.model} (${chosen.why})`);
    const listening = listenForOthers(runtime);
    if (chosen.note) sayWrapped(terminal, String, chosen.note);
    const agent = await runtime.create({
      ...orderFor(goal, chosen, options, settings, project),
      ...(watch && { watch }),
    });
    const { id, created } = agent.now.agent;
    terminal.say(terminal.errPaint.dim(`Agent: ${created.name} (${id})`));
    if (isDetached(terminal.env)) tellParent({ id, name: created.name });
    const interrupted = interruptedAgents(runtime, id, call);
    return await watchTeam(agent, 0, call, [
      listening,
      interrupted,
      repairsOfOthers(runtime, settings.home, interrupted),
    ]);
  } finally {
    await runtime.close();
  }
}

async function chooseModel({ model, workerModel }: RunOptions, { env, config }: Settings, runtime: Runtime) {
  const chosen = model ? { model, why: "--model" } : await runtime.catalog.chooseDefault();
  const worker = workerModel ?? env.AGIRAPH_WORKER_MODEL ?? config.worker_model;
  const { note } = usable(chosen.model, runtime);
  if (worker) usable(worker, runtime);
  return { ...chosen, worker, note };
}

/** A name that cannot be used here is the person's to change, and the catalog says how. */
function usable(model: string, runtime: Runtime): { note: string | null } {
  try {
    return runtime.checkModel(model);
  } catch (error) {
    throw new UnusableModel(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function checkTools(tools: readonly string[], runtime: Runtime): void {
  try {
    runtime.checkTools(tools);
  } catch (error) {
    throw new UsageError(`--tools: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function orderFor(
  goal: string,
  chosen: { model: string; worker: string | undefined },
  options: RunOptions,
  { config }: Settings,
  project: string,
): NewAgent {
  const budget_usd = options.budget ?? config.budget_usd;
  const cycle_seconds = options.mode === "infinite" ? (options.every ?? config.cycle_seconds) : undefined;
  return {
    goal,
    model: chosen.model,
    project,
    ...(options.name && { name: options.name }),
    ...(options.mode && { mode: options.mode }),
    ...(cycle_seconds && { cycle_seconds }),
    ...(chosen.worker && { worker_model: chosen.worker }),
    ...(budget_usd && { budget_usd }),
    ...(options.tools && { tools: options.tools }),
    ...(config.budget_tokens && { budget_tokens: config.budget_tokens }),
  };
}

/** What was not chosen here is chosen by the server, by the home's config and its own keys. */
function servedOrder(goal: string, options: RunOptions, project: string): CreateAgent {
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
  };
}

function projectOf({ cwd }: Terminal, { project }: RunOptions): string {
  const folder = resolve(cwd, project ?? ".");
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--project: there is no folder ${folder}.`);
  return folder;
}

/** Prose, broken at spaces; commands are better left to the terminal, where they can be copied whole. */
function sayWrapped(terminal: Terminal, paint: (text: string) => string, words: string): void {
  const { stderr } = terminal;
  for (const line of stderr.isTTY ? wrap(words, stderr.columns ?? 80) : [words]) terminal.say(paint(line));
}

/** A damaged home works on; what was damaged, and where the damaged bytes are kept, is said before anything else. */
export function tellRepairs({ store }: Runtime, home: string, terminal: Terminal): void {
  for (const line of repairLines(store, home)) terminal.say(`${terminal.errPaint.yellow("!")} ${line}`);
}

function repairLines({ repairs }: Runtime["store"], home: string): string[] {
  return repairs.map(({ file, what, aside }) =>
    plain(`Damaged: ${file}: ${what}.${aside ? ` Kept in ${join(home, aside)}.` : ""}`),
  );
}

/** Looking at the other agents may find damage in their logs; it is said when they have been looked at. */
async function repairsOfOthers({ store }: Runtime, home: string, looked: Remark): Remark {
  const before = store.repairs.length;
  await looked;
  return repairLines(store, home).slice(before).join("\n") || undefined;
}

export function listenForOthers(runtime: Runtime): Remark {
  return runtime.listen().then(
    () => undefined,
    (error: Error) =>
      error.name === "DoorError" ? error.message : `Other terminals cannot stop this one: ${error.message}`,
  );
}

/** This process holds the home, so whoever else counts as working was interrupted. */
async function interruptedAgents(runtime: Runtime, own: string, call: Invocation): Remark {
  // Only a courtesy: what cannot be read is told where it matters, by `ls`.
  const { situations } = await allSituations(runtime.store).catch(() => ({ situations: [] }));
  const left = situations.filter(({ agent }) => agent.status === "working" && agent.id !== own);
  const [first] = left;
  if (!first) return undefined;
  const { id, created } = first.agent;
  const isOnly = situations.filter(({ agent }) => agent.created.name === created.name).length === 1;
  const verb = left.length === 1 ? "was" : "were";
  return `${count(left.length, "agent")} ${verb} interrupted: ${commandLine(call, "resume", isOnly ? created.name : id)}`;
}
