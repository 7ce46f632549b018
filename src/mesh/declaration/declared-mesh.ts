import { join, relative } from "node:path";
import { type MeshConfig, meshConfigSchema } from "../../protocol/index.ts";
import type { Layout } from "../files/layout.ts";
import { BOARD } from "../files/message-names.ts";
import { MeshConfigError, readJson } from "./config-json.ts";
import { type DeclaredAgent, readAgent } from "./declared-agent.ts";
import { declaredNames, originOf } from "./declared-names.ts";
import { hashOf, type Source, Sources, UnusableSource } from "./sources.ts";
import { type FailureRoute, leaves, planOf, topologyOf, type WorkflowPlan } from "./topology.ts";

/** A mesh as declared, with its agents, checked as a whole. */
export interface DeclaredMesh {
  config: MeshConfig;
  /** The mesh whose files declare it: itself, or for `review-2` the mesh `review` that has several instances. */
  declaredAs: string;
  /** How long it lives. */
  lifetime: "persistent" | "ephemeral" | "task";
  topology: ReturnType<typeof topologyOf>;
  plan: WorkflowPlan;
  /** By their short names, in the order of the config. */
  agents: ReadonlyMap<string, DeclaredAgent>;
  /** The agent that is given what comes to the mesh first. */
  entry: string;
  /** By the agent that cannot do its step. */
  failureRoutes: ReadonlyMap<string, FailureRoute>;
  /** Every file of the project that decides its behavior, as it was read; prompts and gates are used from here. */
  sources: ReadonlyMap<string, Source>;
  /** The hash of all its sources: what a person trusts. */
  hash: string;
}

export interface Declared {
  meshes: Map<string, DeclaredMesh>;
  /** Declarations that could not be read; the others are there all the same. */
  problems: MeshConfigError[];
}

/** All meshes that a project declares. An invalid file affects only its own mesh. */
export async function readDeclared(layout: Layout): Promise<Declared> {
  const meshes = new Map<string, DeclaredMesh>();
  const problems: MeshConfigError[] = [];
  for (const name of await declaredNames(layout)) {
    try {
      const declared = readMesh(layout, name);
      refuseSharedSessions(layout, declared, meshes.values());
      meshes.set(declared.config.mesh, declared);
    } catch (error) {
      if (!(error instanceof MeshConfigError)) throw error;
      problems.push(error);
    }
  }
  return { meshes, problems };
}

/**
 * A session is called `{mesh}-{agent}` (seed 004). If two agents had the same session name, text for one would be typed
 * to the other, and killing one would kill the other.
 */
export function refuseSharedSessions(layout: Layout, declared: DeclaredMesh, others: Iterable<DeclaredMesh>): void {
  const { mesh } = declared.config;
  const taken = new Map<string, string>();
  for (const { config, agents } of others) {
    if (config.mesh === mesh) continue;
    for (const agent of agents.keys()) taken.set(`${config.mesh}-${agent}`, `${config.mesh}/${agent}`);
  }
  for (const [index, agent] of [...declared.agents.keys()].entries()) {
    const other = taken.get(`${mesh}-${agent}`);
    if (other === undefined) continue;
    const file = relative(layout.project, join(layout.configs, `${mesh}.json`));
    const why = `the session of ${mesh}/${agent} would be called ${mesh}-${agent}, and so is that of ${other}; rename one of them`;
    throw new MeshConfigError(file, `"agents.${index}": ${why}`);
  }
}

/** Reads a mesh with all its files, once; from then on it runs from what was read. */
export function readMesh(layout: Layout, mesh: string): DeclaredMesh {
  const origin = originOf(layout, mesh);
  if (!origin) return readWhole(layout, mesh);
  const declared = readWhole(layout, origin.mesh);
  const { instances = 1 } = declared.config;
  if (origin.number <= instances) return { ...declared, config: { ...declared.config, mesh } };
  const file = relative(layout.project, join(layout.configs, `${origin.mesh}.json`));
  throw new MeshConfigError(
    file,
    `"instances": there is no ${mesh}: the mesh has only ${instances}. Raise "instances" to have more`,
  );
}

function readWhole(layout: Layout, mesh: string): DeclaredMesh {
  const sources = new Sources(layout.project);
  try {
    const declared = readFrom(sources, layout, mesh);
    const { files } = sources;
    return { ...declared, declaredAs: mesh, sources: files, hash: hashOf(files) };
  } catch (error) {
    throw error instanceof UnusableSource ? new MeshConfigError(error.path, error.message) : error;
  }
}

function readFrom(
  sources: Sources,
  layout: Layout,
  mesh: string,
): Omit<DeclaredMesh, "declaredAs" | "sources" | "hash"> {
  const file = relative(layout.project, join(layout.configs, `${mesh}.json`));
  const config = readJson(sources, file, meshConfigSchema);
  const wrong = (field: string, message: string) => new MeshConfigError(file, `"${field}": ${message}`);
  if (config.mesh !== mesh) throw wrong("mesh", `it says ${config.mesh}, but the file is called ${mesh}.json`);
  const longest = `${mesh}-${config.instances}`;
  if (config.instances !== undefined && longest.length > MOST_NAME)
    throw wrong("instances", `${longest} would be longer than ${MOST_NAME} characters; give the mesh a shorter name`);
  if (config.mesh === BOARD) throw wrong("mesh", `a mesh cannot be called ${BOARD}`);

  const agents = new Map<string, DeclaredAgent>();
  for (const [index, reference] of config.agents.entries()) {
    const field = `agents.${index}`;
    const agent = readAgent(sources, layout, { reference, config }, (message) => wrong(field, message));
    if (agents.has(agent.name)) throw wrong(field, `${agent.name} is listed twice; names must be unique in a mesh`);
    if (agent.name === "mesh" || agent.name === "human" || agent.name === BOARD)
      throw wrong(field, `an agent cannot be called ${agent.name}`);
    agents.set(agent.name, agent);
  }
  for (const field of ["entry_point", "completion_agent"] as const) {
    const name = config[field];
    if (name !== undefined && !agents.has(name)) throw wrong(field, `${name} is not among the agents`);
  }
  const plan = planOf(config);
  const steps = leaves(plan);
  if (steps.length > MOST_STEPS)
    throw wrong("workflow", `it has ${steps.length} steps; at most ${MOST_STEPS} are allowed`);
  const stranger = steps.find(({ agent }) => !agents.has(agent));
  if (stranger) throw wrong("workflow", `${stranger.agent} is not among the agents`);
  const topology = topologyOf(config);
  if (topology === "map-reduce" && (config.workflow === undefined || Array.isArray(config.workflow)))
    throw wrong("workflow", 'map-reduce needs {"map": [...], "reduce": [...]}');
  const first = steps[0]?.agent ?? "";
  if (config.entry_point !== undefined && config.entry_point !== first)
    throw wrong("entry_point", `${config.entry_point} is in the workflow, but ${first} comes first`);
  const last = config.completion_agent;
  if (last !== undefined && topology !== "hierarchical" && !steps.slice(-1).some(({ agent }) => agent === last))
    throw wrong("completion_agent", `${last} is in the workflow, but not at its end`);
  for (const [index, gate] of (config.validation_gates ?? []).entries()) {
    if (sources.read(gateFile(gate)) === undefined && gate !== "output-exists")
      throw wrong(`validation_gates.${index}`, `there is no meshes/gates/${gate}.sh (and it is not output-exists)`);
  }
  const failureRoutes = routesOf(config, plan, wrong);
  const { type } = config;
  const lifetime = type === "ephemeral" || type === "task" ? type : "persistent";
  return { config, lifetime, topology, plan, agents, entry: first, failureRoutes };
}

/** Both ends of a route are steps of their own, once each, so that it is clear from where the work goes on. */
function routesOf(
  { on_failure = {} }: MeshConfig,
  plan: WorkflowPlan,
  wrong: (field: string, message: string) => MeshConfigError,
): Map<string, FailureRoute> {
  const steps = plan.kind === "sequential" ? plan.steps : [];
  const places = (agent: string) =>
    steps.flatMap((step, index) => (leaves(step).some((leaf) => leaf.agent === agent) ? [{ step, index }] : []));
  const only = (agent: string): number | undefined => {
    const [place, ...more] = places(agent);
    return place?.step.kind === "agent" && more.length === 0 ? place.index : undefined;
  };
  const routes = new Map<string, FailureRoute>();
  for (const [agent, { to, rounds = ROUNDS }] of Object.entries(on_failure)) {
    const [from, back] = [only(agent), only(to)];
    const why = "must be a step of its own, exactly once, in a sequential workflow";
    if (from === undefined) throw wrong(`on_failure.${agent}`, `${agent} ${why}`);
    if (back === undefined) throw wrong(`on_failure.${agent}.to`, `${to} ${why}`);
    if (back > from) throw wrong(`on_failure.${agent}.to`, `${to} comes after ${agent}; work can only go back`);
    routes.set(agent, { to, rounds });
  }
  return routes;
}

/** How often a task goes back because of one agent. */
const ROUNDS = 3;

/** The script of a gate, in the project. */
export function gateFile(gate: string): string {
  return `meshes/gates/${gate}.sh`;
}

const MOST_NAME = 48;
const MOST_STEPS = 1_000;
