/** Agiraph as a library: open a home, create agents, follow their facts. The command line is a client of the same. */
export { createCatalog } from "./models/catalog/catalog.ts";
export { type Model, ModelFailure, type ModelRequest, type ToolSpec } from "./models/model.ts";
export * from "./projections/index.ts";
export * from "./protocol/index.ts";
export type { Agent } from "./runtime/agent.ts";
export { loadSettings, type Settings } from "./runtime/config/settings.ts";
export { lookAtHome, openRuntime } from "./runtime/open-runtime.ts";
export type { NewAgent, Runtime } from "./runtime/runtime.ts";
export { type Equipment, equip } from "./runtime/tool-factory.ts";
export { findAgent } from "./runtime/views/find-agent.ts";
export { allSituations, situationOf } from "./runtime/views/situations.ts";
export type { AgentLog, Store } from "./store/store.ts";
export * as z from "./tools/schema.ts";
export { defineTool, type Tool, type ToolOutput } from "./tools/tool.ts";
