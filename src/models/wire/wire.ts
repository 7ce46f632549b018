import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Part } from "../../protocol/index.ts";
import type { ModelRequest } from "../model.ts";
import type { Attempt } from "./attempt.ts";

/** How we talk to a provider: one request out, the parts of the reply in as they arrive. */
export interface Wire {
  /**
   * Resolves when the stream has ended, whole or not; what it means is judged from the parts. Rejects when there was
   * no stream, or when it broke. `said` is what the model said in this turn before it paused.
   */
  ask(request: ModelRequest, said: readonly Part[], attempt: Attempt, take: Take): Promise<void>;
}

/** Returns false if no more parts are wanted. */
export type Take = (part: LanguageModelV4StreamPart) => boolean;
