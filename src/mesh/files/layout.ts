import { join } from "node:path";

/**
 * A message is in exactly one of these at any moment. `outbox` holds messages of an agent that have not been routed
 * yet.
 */
export const QUEUES = ["inbox", "next", "active", "complete", "outbox", "quarantine", "archive"] as const;
export type QueueName = (typeof QUEUES)[number];

/** Where everything of a project's meshes is (seed 004, "Directory Structure"). */
export class Layout {
  readonly project: string;

  constructor(project: string) {
    this.project = project;
  }

  /** What is declared: written by people. */
  get configs(): string {
    return join(this.project, "meshes", "mesh-configs");
  }

  get agents(): string {
    return join(this.project, "meshes", "agents");
  }

  get capabilities(): string {
    return join(this.project, "meshes", "capabilities");
  }

  get gates(): string {
    return join(this.project, "meshes", "gates");
  }

  /** What happens: written by us, by agents and by hand. */
  get running(): string {
    return join(this.project, ".ai", "tx");
  }

  /** Locked by the process that moves the messages; nothing else may open it. */
  get lock(): string {
    return join(this.running, "lock");
  }

  get holder(): string {
    return join(this.running, "lock.json");
  }

  /** Where files are written before they are moved into place, whole. */
  get tmp(): string {
    return join(this.running, "tmp");
  }

  /** Running folders of ephemeral meshes whose work is done. */
  get archive(): string {
    return join(this.running, "archive");
  }

  get meshes(): string {
    return join(this.running, "mesh");
  }

  mesh(mesh: string): string {
    return join(this.meshes, mesh);
  }

  state(mesh: string): string {
    return join(this.mesh(mesh), "state.json");
  }

  shared(mesh: string): string {
    return join(this.mesh(mesh), "shared");
  }

  output(mesh: string): string {
    return join(this.shared(mesh), "output");
  }

  /** For what an agent makes that works at the same time as others. */
  ownOutput(mesh: string, agent: string): string {
    return join(this.output(mesh), agent);
  }

  agent(mesh: string, agent: string): string {
    return join(this.mesh(mesh), "agents", agent);
  }

  /** The prompts it was started with. */
  prompts(mesh: string, agent: string): string {
    return join(this.agent(mesh, agent), "prompts");
  }

  workspace(mesh: string, agent: string): string {
    return join(this.agent(mesh, agent), "workspace");
  }

  /** The queues of the mesh itself, or of one of its agents. */
  messages({ mesh, agent }: MeshAddress): string {
    return join(agent === null ? this.mesh(mesh) : this.agent(mesh, agent), "msgs");
  }

  queue(address: MeshAddress, queue: QueueName): string {
    return join(this.messages(address), queue);
  }
}

/** Who has queues of its own: an agent, or the mesh itself (`agent` is null). A message is written to one: `mesh/agent` or `mesh`. */
export interface MeshAddress {
  mesh: string;
  agent: string | null;
}

export function addressName({ mesh, agent }: MeshAddress): string {
  return agent === null ? mesh : `${mesh}/${agent}`;
}
