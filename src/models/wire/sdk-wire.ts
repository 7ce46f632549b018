import type { JSONObject, LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { orAbort } from "../../boundary/or-abort.ts";
import type { ModelSettings } from "../../protocol/config.ts";
import type { ModelRequest, ToolSpec } from "../model.ts";
import type { Attempt } from "./attempt.ts";
import { cacheKeyOf, PromptWriter } from "./prompt-writer.ts";
import type { ProviderQuirks } from "./provider-quirks.ts";
import { wellFormed, wellFormedJson } from "./well-formed.ts";
import type { Take, Wire } from "./wire.ts";

type WireTools = NonNullable<LanguageModelV4CallOptions["tools"]>;

/** Any provider package of the AI SDK, through its `doStream`; its parts are passed on unchanged. */
export function createSdkWire(
  provider: string,
  language: LanguageModelV4,
  quirks: ProviderQuirks,
  maxSearches: number | null,
  settings: ModelSettings = {},
): Wire {
  const writer = new PromptWriter(provider, quirks);
  const toolsOf = createToolWriter(quirks, maxSearches);

  const { temperature, max_output_tokens = quirks.maxOutputTokens ?? undefined, reasoning_effort: effort } = settings;
  const fixed = {
    ...(temperature !== undefined && { temperature }),
    ...(max_output_tokens !== undefined && { maxOutputTokens: max_output_tokens }),
    ...(effort !== undefined && quirks.effortOption === null && { reasoning: effort }),
    ...(quirks.hidesBadArguments && { includeRawChunks: true }),
  };

  function providerOptions({ system, history, tools }: ModelRequest): JSONObject {
    return {
      ...quirks.options,
      ...(quirks.cacheKeyOption && { [quirks.cacheKeyOption]: cacheKeyOf(system, history) }),
      ...(quirks.effortOption && effort !== undefined && { [quirks.effortOption]: { effort } }),
      ...(quirks.searchLimitOption && maySearch(tools) && { [quirks.searchLimitOption]: maxSearches }),
    };
  }

  /** The provider's own search replaces our tool: a worker that may not use ours does not get it. */
  function maySearch(tools: readonly ToolSpec[]): boolean {
    return quirks.search !== null && maxSearches !== null && tools.some(({ name }) => name === WEB_SEARCH);
  }

  function callOptions(request: ModelRequest, abortSignal: AbortSignal): LanguageModelV4CallOptions {
    const { system, history, tools } = request;
    return {
      prompt: writer.write(system, history),
      abortSignal,
      tools: toolsOf(tools),
      providerOptions: { [quirks.key]: providerOptions(request) },
      ...fixed,
    };
  }

  return {
    async ask(request, said, attempt, take) {
      const options = callOptions(request, attempt.signal);
      if (said.length > 0) options.prompt.push(writer.assistant(said));
      const { stream } = await orAbort(language.doStream(options), attempt.signal);
      await readAll(stream, attempt, take);
    },
  };
}

async function readAll<T extends Parameters<Take>[0]>(stream: ReadableStream<T>, attempt: Attempt, take: Take) {
  const source = stream.getReader();
  // Not every stream of an SDK ends when its request is aborted.
  const cancel = () => void source.cancel().catch(() => {});
  attempt.signal.addEventListener("abort", cancel, { once: true });
  for (;;) {
    const { done, value } = await source.read();
    if (done || attempt.signal.aborted) return;
    if (!take(value)) return cancel();
  }
}

/** The name of our own search, in whose place a provider's stands. */
const WEB_SEARCH = "web_search";

/** Toolboxes hand over the same array every turn, so its translation is kept. */
function createToolWriter(
  { search }: ProviderQuirks,
  maxSearches: number | null,
): (tools: readonly ToolSpec[]) => WireTools {
  const written = new WeakMap<readonly ToolSpec[], WireTools>();
  const toolOf = ({ name, description, parameters }: ToolSpec): WireTools[number] => {
    if (name === WEB_SEARCH && search !== null && maxSearches !== null) {
      const args = search.takesMaxUses ? { maxUses: maxSearches } : {};
      return { type: "provider", id: search.id, name: search.name, args };
    }
    return {
      type: "function",
      name,
      description: wellFormed(description),
      inputSchema: wellFormedJson(parameters),
    };
  };
  return (tools) => {
    const known = written.get(tools) ?? tools.map(toolOf);
    written.set(tools, known);
    return known;
  };
}
