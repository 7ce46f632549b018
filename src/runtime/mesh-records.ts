import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import type { AgentSummaryData } from "../projections/index.ts";
import type { AgentId, FactOf } from "../protocol/index.ts";
import type { Agent } from "./agent.ts";

interface MeshRecordsPorts {
  listed(): Promise<AgentSummaryData[]>;
  summary(id: AgentId): Promise<AgentSummaryData>;
  agent(id: AgentId): Promise<Agent>;
  /** Makes an agent without starting it. */
  make(created: FactOf<"agent.created">["data"]): Promise<Agent>;
}

/** A record of meshes has no model. */
const NO_MODEL = "none";

/** For each project with meshes, the agent that is their record. */
export class MeshRecords {
  readonly #ports: MeshRecordsPorts;
  readonly #finding = new Map<string, Promise<Agent>>();
  readonly #hosting = new Map<string, Promise<boolean>>();

  constructor(ports: MeshRecordsPorts) {
    this.#ports = ports;
  }

  /** The record of a project's meshes; made where there is none. */
  of(project: string): Promise<Agent> {
    const finding = this.#finding.get(project) ?? this.#findOrMake(project);
    this.#finding.set(project, finding);
    return finding.finally(() => this.#finding.delete(project));
  }

  /** Has the meshes of a project at work: here, or where they are already. Resolves with whether it is here. */
  host(project: string): Promise<boolean> {
    const hosting = this.#hosting.get(project) ?? this.#host(project).finally(() => this.#hosting.delete(project));
    this.#hosting.set(project, hosting);
    return hosting;
  }

  async #host(project: string): Promise<boolean> {
    const { ProjectLockedError } = await import("../mesh/files/lock.ts");
    const agent = await this.of(await realpath(project));
    if (agent.meshes) return true;
    return agent.start(agent.now.agent.status === "idle" ? "created" : "resumed").then(
      () => true,
      (error: unknown) => {
        if (error instanceof ProjectLockedError) return false;
        throw error;
      },
    );
  }

  async #findOrMake(project: string): Promise<Agent> {
    const { listed, summary, agent, make } = this.#ports;
    for (const { id } of (await listed()).filter(({ meshes_of }) => meshes_of === project))
      if (!(await summary(id)).archived) return agent(id);
    return make({
      name: `mesh: ${basename(project)}`,
      goal: `Run the meshes of ${project}.`,
      mode: "infinite",
      model: NO_MODEL,
      worker_model: NO_MODEL,
      budget_usd: null,
      project,
      tools: null,
      meshes: true,
    });
  }
}
