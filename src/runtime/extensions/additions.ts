import type { Channel } from "../../mail/channels/channel.ts";
import type { ModelProvider } from "../../models/catalog/model-provider.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { Tool } from "../../tools/tool.ts";

/** What `openRuntime` or an extension adds to the built-ins. The runtime owns it and closes it. */
export interface Additions {
  readonly tools?: readonly Tool[];
  readonly providers?: readonly ModelProvider[];
  readonly channels?: readonly Channel[];
}

/** Merges several additions. */
export function mergedAdditions(all: readonly Additions[]): Required<Additions> {
  return {
    tools: all.flatMap(({ tools = [] }) => tools),
    providers: all.flatMap(({ providers = [] }) => providers),
    channels: all.flatMap(({ channels = [] }) => channels),
  };
}

export interface Closable {
  close?(): void | Promise<void>;
}

/** Everything that may hold resources; what was not checked yet may be anything. */
export function closablesOf(parts: Additions & Closable): Closable[] {
  const lists = [parts.tools, parts.providers, parts.channels].map((list) => (Array.isArray(list) ? list : []));
  return [...lists.flat(), parts].filter((each) => typeof each?.close === "function");
}

const CLOSING_MS = 5_000;

/** Closes each of them once. If one fails, or takes too long, the others are still closed. */
export async function closeAll(closables: readonly Closable[], { sleep }: Pick<Clock, "sleep">): Promise<void> {
  const done = new AbortController();
  const late = sleep(CLOSING_MS, done.signal).catch(() => {});
  const closing = closables.map(async (each) => each.close?.());
  await Promise.race([Promise.allSettled(closing), late]);
  done.abort();
}
