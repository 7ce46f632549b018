import type { MeshFact } from "../../protocol/index.ts";
import type { MeshMessage } from "../files/mesh-message.ts";
import type { Queues } from "../files/queue.ts";
import type { Directory } from "./route.ts";

/** What a mesh needs of the world around it. */
export interface MeshPorts {
  /** Milliseconds. */
  now(): number;
  record(fact: MeshFact): void;
  /**
   * Puts a message before an agent's eyes; resolves when it has it. Telling the same message again is harmless: whoever has
   * it is not told twice.
   */
  tell(agent: string, message: MeshMessage): Promise<void>;
  /** Runs a named check; null is passed, words say what is wrong. */
  gate(name: string): Promise<string | null>;
  /** Hands a message to the human, by its name at most once. */
  human(agent: string, message: MeshMessage): void;
  /** The other meshes, this one included. */
  directory(): Directory;
  queuesOf(mesh: string, agent: string | null): Queues | undefined;
  /** The queues of another mesh have changed by our doing. */
  changed(mesh: string): void;
  /** Tasks have come to their end, and nothing is left to do. */
  idle(): void;
}
