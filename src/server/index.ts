/** `agiraph/server`: the HTTP API and a page over a runtime, in a program of one's own. */
export { tokenOf } from "../store/home/token-file.ts";
export { createLogger, type LogOptions } from "./logs.ts";
export { buildServer, type ServerDeps } from "./server.ts";
