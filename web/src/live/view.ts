import type { Situation } from "../../../src/projections/index.ts";
import type { Fact } from "../../../src/protocol/index.ts";

/** Words of a model as they are streamed, until the reply is recorded. */
export interface StreamedWords {
  text: string;
  reasoning: string;
}

/** What the person said, and to whom. */
export interface SaidWords {
  to: string;
  text: string;
  isHint: boolean;
}

/** The same, until the log has it. */
export interface PendingWords extends SaidWords {
  key: string;
  problem: string | null;
  isTaken: boolean;
  /** Of the log into which it was said. */
  life: number;
}

/** The state of the view of one agent. */
export type ViewState = "loading" | "live" | "lost" | "gone" | "replay";

/** What a screen shows of one agent: now, or at an earlier moment. Mutated in place; `version` changes with it. */
export interface AgentView {
  readonly id: string;
  readonly version: number;
  /** Another number when its log is another than it was. */
  readonly life: number;
  readonly state: ViewState;
  readonly situation: Situation | null;
  /** Consecutive facts up to the moment shown, oldest first; there may be older ones. */
  readonly facts: readonly Fact[];
  readonly words: ReadonlyMap<string, StreamedWords>;
  readonly pending: readonly PendingWords[];
  /** The newest fact there is, also in replay. */
  readonly newest: number;
  subscribe(listener: () => void): () => void;
  loadOlder(): Promise<void>;
}
