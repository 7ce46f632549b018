import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { type Attempt, orAbort } from "./attempt.ts";
import type { ModelRequest, ToolSpec } from "./model.ts";
import { cacheKeyOf, createPromptWriter } from "./prompt.ts";
import type { Quirks } from "./quirks.ts";
import type { Take, Wire } from "./wire.ts";

type Tools = NonNullable<LanguageModelV4CallOptions["tools"]>;

/** Any provider package of the AI SDK, by its `doStream`: what it says goes through as it is. */
export function createSdkWire(
  provider: string,
  language: LanguageModelV4,
  quirks: Quirks,
  maxSearches: number | null,
): Wire {
  const writer = createPromptWriter(provider, quirks);
  const toolsOf = createToolWriter(quirks, maxSearches);

  function callOptions(request: ModelRequest, abortSignal: AbortSignal): LanguageModelV4CallOptions {
    const { system, history, tools } = request;
    const cacheKey = quirks.cacheKeyOption && { [quirks.cacheKeyOption]: cacheKeyOf(system, history) };
    return {
      prompt: writer.write(system, history),
      abortSignal,
      tools: toolsOf(tools),
      providerOptions: { [quirks.key]: { ...quirks.options, ...cacheKey } },
      ...(quirks.maxOutputTokens !== null && { maxOutputTokens: quirks.maxOutputTokens }),
      ...(quirks.hidesBadArguments && { includeRawChunks: true }),
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

/** Toolboxes hand over the same array every turn, so its translation is kept. */
function createToolWriter(quirks: Quirks, maxSearches: number | null): (tools: readonly ToolSpec[]) => Tools {
  const written = new WeakMap<readonly ToolSpec[], Tools>();
  return (tools) => {
    const known = written.get(tools);
    if (known !== undefined) return known;
    const made: Tools = tools.map(({ name, description, parameters }) => ({
      type: "function",
      name,
      description,
      inputSchema: parameters,
    }));
    // A request without tools is a summary or the like, which has nothing to search for.
    if (quirks.search !== null && maxSearches !== null && tools.length > 0) {
      const { id, name, takesMaxUses } = quirks.search;
      const taken = tools.some((tool) => tool.name === name);
      if (!taken) made.push({ type: "provider", id, name, args: takesMaxUses ? { maxUses: maxSearches } : {} });
    }
    written.set(tools, made);
    return made;
  };
}
