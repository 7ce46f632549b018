import type { FastifyBaseLogger } from "fastify";
import type { ServerConfig } from "../protocol/config.ts";
import type { LiveSettings } from "../runtime/config/live-config.ts";
import type { Settings } from "../runtime/config/settings.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** The dependencies of the server, all passed in. */
export interface ServerDeps {
  runtime: Runtime;
  /** Those that follow config.json, or those that stay. */
  settings: Settings | LiveSettings;
  /** Anyone who has it may do everything. */
  token: string;
  logger?: FastifyBaseLogger;
  /** Where it was started: offered as the folder of a new agent. */
  folder?: string;
  /** By which names and ways it is reached; as config.json says if left out. */
  reach?: ServerConfig;
  /** The built web page. */
  webDir?: string;
}
