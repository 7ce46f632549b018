/** Agiraph as a library: open a home, create agents, follow their facts. The command line uses the same interface. */
export {
  type Channel,
  type ChannelListener,
  type Delivery,
  defineChannel,
  type Receive,
} from "./mail/channels/channel.ts";
export type { IncomingWords } from "./mail/channels/receive-webhook.ts";
export type { Utterance } from "./mail/channels/utterance.ts";
export { createCatalog } from "./models/catalog/catalog.ts";
export {
  defineProvider,
  type ModelProvider,
  type OfferedModel,
  type ProvidedModel,
  type ProvidedReply,
  type ProviderContext,
} from "./models/catalog/model-provider.ts";
export { type Model, ModelFailure, type ModelRequest, type ToolSpec } from "./models/model.ts";
export * from "./projections/index.ts";
export * from "./protocol/index.ts";
export type { Agent } from "./runtime/agent.ts";
export type { NewAgent } from "./runtime/agent-order.ts";
export { loadSettings, type Settings } from "./runtime/config/settings.ts";
export type { Additions } from "./runtime/extensions/additions.ts";
export {
  defineExtension,
  type Extension,
  type ExtensionContext,
  type ExtensionParts,
  type ExtensionState,
} from "./runtime/extensions/extension.ts";
export { lookAtHome, openRuntime, type RuntimeOptions } from "./runtime/open-runtime.ts";
export type { Runtime } from "./runtime/runtime.ts";
export { allSituations, situationOf } from "./runtime/state/situations.ts";
export { findAgent } from "./runtime/views/find-agent.ts";
export type { AgentLog, Store } from "./store/store.ts";
export * as z from "./tools/schema.ts";
export { defineTool, type Tool, type ToolOutput } from "./tools/tool.ts";
