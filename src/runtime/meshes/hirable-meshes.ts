import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { nearest } from "../../boundary/nearest.ts";
import { readMesh } from "../../mesh/declaration/declared-mesh.ts";
import { Layout } from "../../mesh/files/layout.ts";
import type { Clock } from "../../protocol/clock.ts";
import { type AgentId, meshConfigSchema, type ProgramProfile } from "../../protocol/index.ts";
import { programOf } from "../../workers/outside/programs.ts";
import type { ListedProgram, ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import { type MeshTrust, mayRun } from "./trust.ts";

interface MeshProgramsPorts {
  agent: AgentId;
  /** The folder it may read; its meshes are declared there. */
  project: string | null;
  /** Resolves with whether this process has them at work. */
  hostMeshes(project: string): Promise<boolean>;
  trust: MeshTrust;
  clock: Clock;
}

/** The configured programs, plus the meshes of an agent's project as programs called `mesh/NAME`. */
export function withMeshes(
  outside: ProgramPorts,
  { agent, project, hostMeshes, trust, clock }: MeshProgramsPorts,
): ProgramPorts {
  if (project === null) return outside;
  const layout = new Layout(project);
  const host = () => hostMeshes(project);
  const problemOf = (mesh: string) => trustProblem(layout, mesh, trust);
  return {
    ...outside,
    list: () => [...outside.list(), ...declared(layout).map((mesh) => listed(layout, mesh, problemOf(mesh)))],
    program(name) {
      const profile = name.startsWith(PREFIX) ? profileOf(name.slice(PREFIX.length)) : outside.program(name);
      const [mesh = ""] = profile.command;
      if (profile.kind === "mesh" && !declared(layout).includes(mesh)) throw new Error(unknown(mesh, declared(layout)));
      return profile.kind === "mesh" ? { ...profileOf(mesh), ...profile } : profile;
    },
    kindOf: (name) => (name.startsWith(PREFIX) ? "mesh" : outside.kindOf(name)),
    async needsPerson(name) {
      const { kind, command } = this.program(name);
      const [mesh = ""] = command;
      const problem = kind === "mesh" ? problemOf(mesh) : null;
      // The process that runs the meshes of a project asks the person about those that are not trusted.
      if (problem !== null) await host();
      return problem;
    },
    async adapter(kind) {
      if (kind !== "mesh") return outside.adapter(kind);
      // Loaded only when a mesh is hired.
      const { meshAdapter } = await import("./board-worker.ts");
      return meshAdapter({ agent, layout, host, problemOf, clock });
    },
    async ended(worker, node, how) {
      if (worker.kind !== "mesh") return outside.ended?.(worker, node, how);
      const { takeEnds, withdraw } = await import("./board-worker.ts");
      const [mesh = ""] = this.program(programOf(worker)).command;
      if (how === "cancelled") withdraw(layout, mesh, agent, node, new Date(clock.now()));
      await takeEnds(layout, mesh, agent, node);
    },
  };
}

const PREFIX = "mesh/";

/** The mesh that a program of this name is; undefined for other programs. */
export function meshNamed(program: string): string | undefined {
  return program.startsWith(PREFIX) ? program.slice(PREFIX.length) : undefined;
}

/** A mesh may work for days without a word: what it does is in its own record. */
const SILENCE_SECONDS = 23 * 86_400;

function profileOf(mesh: string): ProgramProfile {
  return { kind: "mesh", command: [mesh], silence_seconds: SILENCE_SECONDS };
}

function declared({ configs }: Layout): string[] {
  const names = existsSync(configs) ? readdirSync(configs) : [];
  return names.flatMap((name) => /^([a-z0-9][a-z0-9_-]*)\.json$/.exec(name)?.[1] ?? []).toSorted();
}

/** Why nothing of a mesh may run now: its content is not what a person has agreed to. Null if it may. */
function trustProblem(layout: Layout, mesh: string, trust: MeshTrust): string | null {
  try {
    const { status } = trust.stateOf(realpathSync(layout.project), readMesh(layout, mesh));
    if (mayRun({ status })) return null;
    const why = status === "changed" ? "has changed since the person trusted it" : "is not trusted by the person yet";
    return `The mesh ${mesh} of this project ${why}, so nothing of it runs. The person finds a question about it in their inbox (or runs: tx trust ${mesh}). Until they agree, go on without it.`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function listed({ configs }: Layout, mesh: string, problem: string | null): ListedProgram {
  const config = configIn(join(configs, `${mesh}.json`));
  const about = `A team that this project declares, with its own workflow. ${config?.description ?? ""}`.trim();
  const missing = config ? null : `meshes/mesh-configs/${mesh}.json is not valid; \`tx status\` says why.`;
  return { name: `${PREFIX}${mesh}`, about, missing: missing ?? problem };
}

function configIn(path: string) {
  try {
    return meshConfigSchema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
  } catch {
    return undefined;
  }
}

function unknown(mesh: string, names: readonly string[]): string {
  if (names.length === 0) return "The project declares no meshes (meshes/mesh-configs/*.json).";
  const [near] = nearest(mesh, names, 1);
  return `There is no mesh "${mesh}".${near ? ` Did you mean ${PREFIX}${near}?` : ""} Choose from: ${names.map((name) => `${PREFIX}${name}`).join(", ")}.`;
}
