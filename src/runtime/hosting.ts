import type { EngineHosts } from "../engine/engine-hosts.ts";
import type { SharedDirectory } from "./shared-agents.ts";

/** For a runtime whose home is the working copy of an engine: the engine, as far as all hosts share it. */
export type Hosting = Pick<
  EngineHosts,
  "answer" | "ask" | "copy" | "heard" | "isAway" | "name" | "onBeat" | "ownerOf" | "watch"
> & {
  readonly directory: SharedDirectory;
};
