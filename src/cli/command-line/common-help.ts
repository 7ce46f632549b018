import type { OptionSpec } from "./command-spec.ts";

// Help texts that several commands share.

export const AGENT = ["<agent>", "its name, its id, or the beginning of either"] as const;

export const DETACH: OptionSpec = ["--detach", "if the agent continues, run it in the background"];

export const UNSAFE: OptionSpec = [
  "--unsafe-no-sandbox",
  "run commands without a sandbox, with your own rights (every call says so)",
];

/** Variables that nobody would find by trying. */
export const MODEL_VARIABLES = `
Environment variables, also read from a .env file:
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY
      the key of a provider; without any, the built-in demo surveys files
  ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GEMINI_BASE_URL, OPENROUTER_BASE_URL,
  OLLAMA_BASE_URL
      another address for it: a gateway, or a local Ollama
  AGIRAPH_MODEL, AGIRAPH_WORKER_MODEL
      provider/model, where --model and --worker-model are not given
  BRAVE_API_KEY, SERPER_API_KEY, TAVILY_API_KEY, SEARXNG_URL
      web search, for models that cannot search by themselves
  AGIRAPH_SEARCH_MAX_USES
      how many web searches one turn may make (5; 0 is none)
  AGIRAPH_HOME, AGIRAPH_PORT, NO_COLOR
`;
