/**
 * `agiraph/testing`: what agents can be tested with, ours and yours. A scripted model in the process, a scripted
 * provider on a port, a clock that a test turns, and a home that cleans up after itself.
 *
 * ```ts
 * import { call, script, startProviderServer, temporaryHome } from "agiraph/testing";
 *
 * // A model that plays a script, strictly:
 * const model = script(call("read_file", { path: "a.md" }), call("publish", { summary: "hello" }).after("hello"));
 *
 * // The same over real HTTP, for whatever speaks to a provider, with something going wrong on the way:
 * await using provider = await startProviderServer({
 *   turns: [[{ fault: { status: 429, retryAfter: 2 } }, { text: "Hello." }]],
 * });
 * process.env.ANTHROPIC_BASE_URL = provider.env.ANTHROPIC_BASE_URL;
 * ```
 */
export { type ManualClock, manualClock } from "./manual-clock.ts";
export type { ProviderTurns, ScriptedTurn } from "./provider-script.ts";
export {
  type ProviderRequest,
  type ProviderServer,
  type ProviderServerOptions,
  startProviderServer,
} from "./provider-server.ts";
export type { Fault, ProviderCall, ProviderTurn, Search, Thinking } from "./provider-turn.ts";
export { type HeardRequest, type ScriptedModel, type ScriptOptions, SILENCE, script } from "./script.ts";
export { both, call, type FailureDetails, fail, hang, type ReplyDetails, type ScriptStep, say } from "./script-step.ts";
export { startTeam, type TeamPlan, TestTeam, until } from "./start-team.ts";
export { type TemporaryHome, temporaryHome } from "./temporary-home.ts";
export { trustMeshes } from "./trust-meshes.ts";
export type { ProviderMessage } from "./wire/wire.ts";
