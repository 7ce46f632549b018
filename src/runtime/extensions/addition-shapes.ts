import type { Channel } from "../../mail/channels/channel.ts";
import type { ModelProvider } from "../../models/catalog/model-provider.ts";
import { channelTopicSchema } from "../../protocol/channel.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Additions } from "./additions.ts";

const LISTS = { tools: toolProblem, providers: providerProblem, channels: channelProblem };

/** The problem of the first addition that does not fit its list; undefined if all are valid. */
export function shapeProblem(additions: Additions): string | undefined {
  for (const [list, problemWith] of Object.entries(LISTS)) {
    const given: unknown = additions[list as keyof Additions];
    if (given === undefined) continue;
    if (!Array.isArray(given)) return `"${list}" is not a list.`;
    for (const [at, each] of given.entries()) {
      const problem = each instanceof Object ? problemWith(each) : NOT_ONE[list as keyof Additions];
      if (problem !== undefined) return `${list}[${at}]${problem}`;
    }
  }
  return undefined;
}

const NOT_ONE: Readonly<Record<keyof Additions, string>> = {
  tools: " is not a tool. Make it with defineTool.",
  providers: " is not a provider. It needs a name and model(); make it with defineProvider.",
  channels:
    " is not a channel. It needs a name and deliver(), and `to` only lists questions, messages or ends; make it with defineChannel.",
};

function toolProblem({ spec, parse, run, repeatable, close }: Partial<Tool>): string | undefined {
  const isNamed = typeof spec?.name === "string";
  if (!isNamed || !(spec.parameters instanceof Object) || !isFunction(parse) || !isFunction(run)) return NOT_ONE.tools;
  if (typeof spec.description !== "string")
    return ` (${spec.name}): \`description\` is missing. It is what the model is told about the tool.`;
  if (typeof repeatable !== "boolean")
    return ` (${spec.name}): \`repeatable\` is missing. Set it to true if a call may be made again after a crash, otherwise to false.`;
  return isOptional(close) ? undefined : ` (${spec.name}): \`close\` must be a function.`;
}

function providerProblem(provider: Partial<ModelProvider>): string | undefined {
  const { name, model, models = [], keyVariable = "", close } = provider;
  const isListed = Array.isArray(models) && models.every((each) => typeof each?.name === "string");
  const isRight = typeof name === "string" && isFunction(model) && isListed && typeof keyVariable === "string";
  return isRight && isOptional(close) ? undefined : NOT_ONE.providers;
}

function channelProblem({ name, deliver, to = [], listen, close }: Partial<Channel>): string | undefined {
  const isCarrying = Array.isArray(to) && to.every((topic) => channelTopicSchema.safeParse(topic).success);
  const isRight = typeof name === "string" && isFunction(deliver) && isCarrying && isOptional(listen);
  return isRight && isOptional(close) ? undefined : NOT_ONE.channels;
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isOptional(value: unknown): boolean {
  return value === undefined || isFunction(value);
}
