/** `agiraph/server`: the HTTP API and a page over a runtime, for your own program. */
export { tokenOf } from "../store/home/token-file.ts";
export { createLogger, type LogOptions } from "./logs.ts";
export { buildServer, type ServerDeps } from "./server.ts";
