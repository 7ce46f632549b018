import type { MeshFact } from "../../protocol/index.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import type { Queues } from "../files/queue.ts";
import type { AgentsByMesh } from "./message-route.ts";

/** What a mesh needs from the runtime. */
export interface MeshPorts {
  /** Milliseconds. */
  now(): number;
  record(fact: MeshFact): void;
  /**
   * Tells an agent a message; resolves when it has arrived. Telling the same message again is harmless: it arrives once.
   */
  tell(agent: string, message: MeshMessage): Promise<void>;
  /** Runs a named gate. Null: passed; otherwise what is wrong. */
  gate(name: string): Promise<string | null>;
  /** Hands a message to the human, at most once for each name. */
  human(agent: string, message: MeshMessage): void;
  /** All meshes, this one included. */
  agentsByMesh(): AgentsByMesh;
  queuesOf(mesh: string, agent: string | null): Queues | undefined;
  /** We have changed the queues of another mesh. */
  changed(mesh: string): void;
  /** Tasks have ended, and nothing is left to do. */
  idle(): void;
}
