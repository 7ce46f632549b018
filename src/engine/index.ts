export { checkEngine, type EngineCheck } from "./check-engine.ts";
export { Database } from "./database.ts";
export { EngineError, engineAddress } from "./engine-address.ts";
export { exportHome } from "./export-home.ts";
export { importHome } from "./import-home.ts";
