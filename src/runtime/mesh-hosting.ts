import type { NewFact } from "../protocol/index.ts";
import type { AgentServices } from "./agent-services.ts";
import type { HostedMeshes } from "./meshes/hosted-meshes.ts";
import type { MeshRecordPorts } from "./meshes/mesh-record.ts";
import { onItsOwn } from "./state/acting.ts";
import type { WhyStarted } from "./state/start-facts.ts";

interface MeshHostingPorts extends MeshRecordPorts {
  services: Pick<AgentServices, "meshes" | "pid">;
}

/** The meshes of a project while they run in this process, for the agent that is their record. */
export class MeshHosting {
  readonly #ports: MeshHostingPorts;
  #hosted: HostedMeshes | undefined;

  constructor(ports: MeshHostingPorts) {
    this.#ports = ports;
  }

  get hosted(): HostedMeshes | undefined {
    return this.#hosted;
  }

  async start(why: WhyStarted): Promise<void> {
    const { log, now, pending, clock, live, services } = this.#ports;
    // Opened first: what cannot be opened was not started.
    const meshes = await onItsOwn(() => services.meshes({ log, now, pending, clock, live }));
    try {
      const facts: NewFact[] = why === "resumed" ? [{ type: "agent.resumed", data: {} }] : [];
      const started: NewFact = { type: "agent.started", data: { why, pid: services.pid } };
      await log.append({ facts: [...facts, started] }).durable;
    } catch (error) {
      await meshes.close("leaves");
      throw error;
    }
    this.#hosted = meshes;
  }

  /** `leaves`: terminals run on without us. */
  async close(how: "leaves" | "ends"): Promise<void> {
    const hosted = this.#hosted;
    this.#hosted = undefined;
    await hosted?.close(how);
  }
}
