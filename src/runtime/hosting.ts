import type { EngineHosts } from "../engine/engine-hosts.ts";
import type { SharedDirectory } from "./shared-agents.ts";

/** For a runtime whose home is the working copy of an engine: the engine, as far as all hosts share it. */
export type Hosting = Pick<
  EngineHosts,
  | ("another" | "answer" | "ask" | "copy" | "drain" | "heard" | "isAway" | "list" | "name" | "onBeat" | "ownerOf")
  | ("signal" | "watch")
> & {
  readonly directory: SharedDirectory;
};
