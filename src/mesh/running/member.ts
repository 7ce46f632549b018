import type { MeshMessage } from "../files/mesh-message.ts";

/** Does the work of a mesh agent: a program in tmux, a program without a terminal, or a model in our loop. */
export interface Member {
  /** Resolves when the message has arrived. A message that arrived before is not told again. */
  tell(message: MeshMessage): Promise<void>;
  /** Ends its session and leaves nothing running. */
  close(): Promise<void>;
}
