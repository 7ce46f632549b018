import { join } from "node:path";
import { apply, begin } from "../../src/projections/index.ts";
import type { Config } from "../../src/protocol/config.ts";
import type { Fact, StoredEntry } from "../../src/protocol/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { type ProviderServer, temporaryHome } from "../../src/testing/index.ts";

/** Every way in which a model can be spoken to. `searches`: the provider has its own web search. */
export const PROVIDERS = [
  { name: "Anthropic Messages", model: "anthropic/claude-sonnet-4-5", searches: true },
  { name: "OpenAI Responses", model: "openai/gpt-5", searches: true },
  { name: "Google Gemini", model: "google/gemini-2.5-pro", searches: false },
  { name: "OpenRouter", model: "openrouter/qwen/qwen3-coder", searches: false },
  { name: "Ollama", model: "ollama/qwen3", searches: false },
  { name: "an OpenAI-compatible server", model: "openai-compatible/local/small", searches: false },
  { name: "text tags, for a model without tools", model: "openai-compatible/words/small", searches: false },
] as const;

export function configFor(provider: ProviderServer, more: Config = {}): Config {
  return {
    providers: {
      local: { base_url: `${provider.url}/v1` },
      words: { base_url: `${provider.url}/v1`, native_tools: false },
    },
    ...more,
  };
}

export interface Told {
  /** `idle → working → completed`, each status once per change. */
  statuses: string[];
  facts: Fact[];
  conversation: StoredEntry[];
  run: string;
  summary: string | null;
}

/** Runs an agent to its end over real HTTP, tells how it went, and leaves its files to be looked at. */
export async function runToItsEnd(
  order: { goal: string; model: string; tools: string[]; env: Record<string, string>; config: Config },
  look: (told: Told) => Promise<void>,
  meanwhile: (agent: Agent) => Promise<void> = async () => {},
): Promise<void> {
  await using home = await temporaryHome();
  const runtime = await openRuntime({ home: home.path, env: order.env, config: order.config });
  try {
    const agent = await runtime.create({ goal: order.goal, model: order.model, tools: order.tools, mode: "finite" });
    await meanwhile(agent);
    await agent.idle();
    const facts = await agent.log.read({ after: 0, limit: 100_000 });
    await look({
      statuses: statusesOver(facts),
      facts,
      conversation: await agent.log.conversation("conversation.jsonl"),
      run: join(agent.log.dir, "runs/run-1"),
      summary: agent.now.agent.summary,
    });
  } finally {
    await runtime.close();
  }
}

function statusesOver(facts: Fact[]): string[] {
  const [first, ...rest] = facts;
  if (!first) return [];
  const now = begin(first);
  const statuses: string[] = [now.agent.status];
  for (const fact of rest) {
    apply(now, fact);
    if (statuses.at(-1) !== now.agent.status) statuses.push(now.agent.status);
  }
  return statuses;
}
