import type { MeshMessage } from "../files/mesh-message.ts";

/** Who does what a mesh agent is given: a program in tmux, one without a terminal, a model in our loop. */
export interface Member {
  /** Resolves when it has the message before its eyes. A message that it has already is not told again. */
  tell(message: MeshMessage): Promise<void>;
  /** Ends it, and leaves nothing running. */
  close(): Promise<void>;
}
