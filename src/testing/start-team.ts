import { dirname } from "node:path";
import type { Catalog } from "../models/catalog/catalog.ts";
import { PROGRAMS, programIn } from "../models/catalog/model-name.ts";
import type { Model, ModelRequest } from "../models/model.ts";
import type { NodeState, Situation } from "../projections/index.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Config } from "../protocol/config.ts";
import type { Fact, Outcome, StoredEntry, Watched, Write } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import type { Environment } from "../runtime/config/settings.ts";
import type { Additions } from "../runtime/extensions/additions.ts";
import type { LoginBroker } from "../runtime/logins/login-broker.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import type { Runtime, RuntimePorts } from "../runtime/runtime.ts";
import type { ScriptedModel } from "./script.ts";
import { type TemporaryHome, temporaryHome } from "./temporary-home.ts";
import { trustMeshes } from "./trust-meshes.ts";

export interface TeamPlan {
  goal: string;
  coordinator: ScriptedModel;
  /** Who leads instead: `claude-code/sonnet` or `scripted`, played by one of the programs. */
  model?: string;
  /** Who works, where nobody is chosen by name. */
  worker_model?: string;
  /** By name: who plays which worker. */
  workers?: Record<string, ScriptedModel>;
  tools?: readonly string[];
  project?: string;
  /** Whether the team may change the repository that `project` is. */
  write?: Write | boolean;
  /** A person has agreed to the project's meshes as they are now, terminals included. */
  trusted?: boolean;
  budget_usd?: number;
  budget_tokens?: number;
  /** A home that is kept; otherwise one that goes with the team. */
  home?: string;
  config?: Config;
  env?: Environment;
  clock?: Clock;
  mode?: "finite" | "infinite";
  /** How long an infinite agent sleeps between its cycles. */
  cycle_seconds?: number;
  /** What wakes an infinite agent when it changes. */
  watch?: Watched;
  /** Programs that can be hired. */
  outside?: RuntimePorts["outside"];
  /** Who keeps the logins of programs. */
  logins?: LoginBroker;
  /** What triggers may have called. */
  callbacks?: RuntimePorts["callbacks"];
  /** What commands find here; nothing unless a test says it. */
  machine?: RuntimePorts["machine"];
  /** What is added to the built-ins: tools and channels. Models are the scripted ones. */
  added?: Additions;
}

/**
 * A whole agent with scripted minds on a real home: real loop, tools, files and log.
 *
 * ```ts
 * await using team = await startTeam({ goal: "Say hello", coordinator: script(call("finish", { summary: "hello" })) });
 * expect(await team.outcome()).toEqual({ kind: "finished", summary: "hello" });
 * ```
 */
export async function startTeam(plan: TeamPlan): Promise<TestTeam> {
  const temporary = plan.home === undefined ? await temporaryHome() : undefined;
  const home = plan.home ?? temporary?.path ?? "";
  const settings = { home, env: plan.env ?? {}, config: plan.config ?? {}, ...plan.added };
  if (plan.trusted && plan.project !== undefined) await trustMeshes(home, plan.project);
  const runtime = await openRuntime(settings, portsOf(plan));
  const agent = await runtime.create({
    goal: plan.goal,
    model: plan.model ?? COORDINATOR_MODEL,
    worker_model: plan.worker_model ?? WORKER_MODEL,
    ...(plan.mode && { mode: plan.mode }),
    ...(plan.cycle_seconds && { cycle_seconds: plan.cycle_seconds }),
    ...(plan.watch && { watch: plan.watch }),
    ...(plan.tools ? { tools: plan.tools } : {}),
    ...(plan.project ? { project: plan.project } : {}),
    ...(plan.write === undefined ? {} : { write: plan.write }),
    ...(plan.budget_tokens ? { budget_tokens: plan.budget_tokens } : {}),
    ...(plan.budget_usd ? { budget_usd: plan.budget_usd } : {}),
  });
  return new TestTeam(runtime, agent, plan, temporary);
}

function portsOf(plan: TeamPlan) {
  return {
    catalog: scriptedCatalog(plan),
    // What is installed here must not change what scripts are told.
    machine: plan.machine ?? (async () => ({ loop: "", program: "" })),
    ...(plan.clock && { clock: plan.clock }),
    ...(plan.outside && { outside: plan.outside }),
    ...(plan.logins && { logins: plan.logins }),
    ...(plan.callbacks && { callbacks: plan.callbacks }),
  };
}

export class TestTeam implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly agent: Agent;
  readonly #plan: TeamPlan;
  readonly #temporary: TemporaryHome | undefined;

  constructor(runtime: Runtime, agent: Agent, plan: TeamPlan, temporary: TemporaryHome | undefined) {
    this.runtime = runtime;
    this.agent = agent;
    this.#plan = plan;
    this.#temporary = temporary;
  }

  /** Waits for the run to end; fails if a script was left unplayed or asked for more. */
  async outcome(): Promise<Outcome> {
    await this.agent.idle();
    for (const model of [this.#plan.coordinator, ...Object.values(this.#plan.workers ?? {})]) model.assertDone();
    const { outcome } = this.agent.now.agent;
    if (!outcome) throw new Error(`The run has not ended: the agent is ${this.agent.now.agent.status}.`);
    return outcome;
  }

  /** Resolves when it is so: with the fact that makes it so, or at once. */
  until(isSo: (now: Situation) => boolean): Promise<void> {
    return until(this.agent, isSo);
  }

  /** The process ends and another one opens the same home; nobody works before something is started. */
  async restart(): Promise<TestTeam> {
    const home = dirname(dirname(this.agent.log.dir));
    await this.runtime.close();
    const { env = {}, config = {}, added } = this.#plan;
    const settings = { home, env, config, ...added };
    const runtime = await openRuntime(settings, portsOf(this.#plan));
    return new TestTeam(runtime, await runtime.agent(this.agent.log.id), this.#plan, this.#temporary);
  }

  board(): NodeState[] {
    return Object.values(this.agent.now.board.nodes);
  }

  facts(): Promise<Fact[]> {
    return this.agent.log.read({ after: 0, limit: 1_000_000 });
  }

  conversation(file = "conversation.jsonl"): Promise<StoredEntry[]> {
    return this.agent.log.conversation(file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime.close();
    await this.#temporary?.remove();
  }
}

/** Nobody polls: what an agent's situation becomes, it becomes with a fact. */
export function until(agent: Agent, isSo: (now: Situation) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    if (!isSo(agent.now)) return;
    unhear();
    resolve();
  };
  const unhear = agent.log.subscribe(look);
  look();
  return promise;
}

const COORDINATOR_MODEL = "scripted/coordinator";
const WORKER_MODEL = "scripted/worker";

/** Every model there is, played by scripts. */
export function scriptedCatalog(plan: Pick<TeamPlan, "coordinator" | "workers" | "config">): Catalog {
  const { coordinator, workers = {}, config } = plan;
  const worker = byName(workers);
  const isProgram = (name: string) => [...BUILT_IN, ...Object.keys(config?.programs ?? {})].includes(name);
  return {
    model: async (id: string) => (id === COORDINATOR_MODEL ? coordinator : { ...worker, id }),
    programOf: (id: string) => (id.startsWith("scripted/") ? undefined : programIn(id, isProgram)),
    list: async () => [],
    chooseDefault: async () => ({ model: COORDINATOR_MODEL, why: "scripted" }),
    cost: async () => 0,
    resolve: (id: string) => ({ id, contextWindow: 200_000, searchesWeb: false, note: null }),
  };
}

const BUILT_IN = ["scripted", ...PROGRAMS];

/** Every worker shares one model id; its prompt says whose turn it is. */
function byName(workers: Record<string, ScriptedModel>): Model {
  const of = (request: ModelRequest): ScriptedModel => {
    const name = /^You are ([^.]+)\./.exec(request.system)?.[1] ?? "";
    const model = workers[name];
    if (!model)
      throw new Error(
        `Nobody scripted a worker named ${name}. Scripted: ${Object.keys(workers).join(", ") || "none"}.`,
      );
    return model;
  };
  return {
    id: WORKER_MODEL,
    contextWindow: 200_000,
    searchesWeb: false,
    reply: (request, signal) => of(request).reply(request, signal),
  };
}
