import type { Situation } from "../../../src/projections/index.ts";
import type { Fact } from "../../../src/protocol/index.ts";

/** Words of a model as they come, until the reply is on record. */
export interface StreamedWords {
  text: string;
  reasoning: string;
}

/** What the person said, and to whom. */
export interface Said {
  to: string;
  text: string;
  isHint: boolean;
}

/** The same, while the log does not know it yet. */
export interface Pending extends Said {
  key: string;
  problem: string | null;
  isTaken: boolean;
  /** Of the log into which it was said. */
  life: number;
}

/** How it stands with what is shown of one agent. */
export type ViewState = "loading" | "live" | "lost" | "gone" | "replay";

/** What a screen shows of one agent: now, or as it was at a moment. Changed in place; `version` says that it was. */
export interface AgentView {
  readonly id: string;
  readonly version: number;
  /** Another number when its log is another than it was. */
  readonly life: number;
  readonly standing: ViewState;
  readonly situation: Situation | null;
  /** Consecutive facts up to the moment shown, oldest first; there may be older ones. */
  readonly facts: readonly Fact[];
  readonly words: ReadonlyMap<string, StreamedWords>;
  readonly pending: readonly Pending[];
  /** The newest fact there is, also in replay. */
  readonly newest: number;
  subscribe(listener: () => void): () => void;
  loadOlder(): Promise<void>;
}
