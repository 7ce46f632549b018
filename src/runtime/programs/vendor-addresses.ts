import { baseUrl } from "../../models/catalog/base-url.ts";
import { PROVIDERS, type Provider } from "../../models/catalog/providers.ts";
import type { ProgramProfile } from "../../protocol/index.ts";

type Variables = Readonly<Record<string, string>>;

/**
 * A program's variables, with the addresses of vendors (`OPENAI_BASE_URL` and the like, with or without a version) where
 * this program reads them: Codex and opencode do not read these variables, and Gemini CLI has another name for its own.
 *
 * VENDOR-ADDRESS-1. An address counts only together with its key, so that no login is sent to it.
 * VENDOR-ADDRESS-2. What the profile sets in the program's own terms overrides it.
 */
export function withAddresses(
  { quirks }: Pick<ProgramProfile, "quirks">,
  variables: Variables,
): Record<string, string> {
  return { ...variables, ...(quirks && changes[quirks](variables)) };
}

const changes: Record<NonNullable<ProgramProfile["quirks"]>, (variables: Variables) => Record<string, string>> = {
  // It adds the version itself.
  claude: ({ ANTHROPIC_BASE_URL: address }) =>
    address ? { ANTHROPIC_BASE_URL: address.trim().replace(/(\/v1)?\/*$/, "") } : {},
  codex(variables) {
    const key = variables.OPENAI_API_KEY || variables.CODEX_API_KEY;
    const address = addressOf(provider("openai"), variables, key);
    return address ? settingsOver({ openai_base_url: address }, "CODEX_CONFIG", variables) : {};
  },
  gemini(variables) {
    const address = addressOf(provider("google"), variables);
    if (!address || variables.GOOGLE_GEMINI_BASE_URL) return {};
    return { GOOGLE_GEMINI_BASE_URL: address.replace(/\/v1beta$/, "") };
  },
  opencode(variables) {
    const addressed = ["anthropic", "openai", "google", "openrouter"].flatMap((name) => {
      const baseURL = addressOf(provider(name), variables);
      return baseURL ? [[name, { options: { baseURL } }] as const] : [];
    });
    if (addressed.length === 0) return {};
    return settingsOver({ provider: Object.fromEntries(addressed) }, "OPENCODE_CONFIG_CONTENT", variables);
  },
};

/** With its version; undefined where there is none, or no key. */
function addressOf(
  { urlVariable, keyVariable, version }: Provider,
  variables: Variables,
  key = variables[keyVariable ?? ""],
): string | undefined {
  const written = variables[urlVariable];
  return key && written ? baseUrl(written, version, urlVariable) : undefined;
}

function provider(name: string): Provider {
  const found = PROVIDERS.find((each) => each.name === name);
  if (!found) throw new Error(`unknown provider: ${name}`);
  return found;
}

/** The variable with a program's settings as JSON, which override these, field by field. */
function settingsOver(ours: object, variable: string, variables: Variables): Record<string, string> {
  const given = variables[variable];
  try {
    return { [variable]: JSON.stringify(given ? merged(ours, JSON.parse(given)) : ours) };
  } catch {
    return {}; // the program says itself what is wrong with its settings
  }
}

function merged(under: unknown, over: unknown): unknown {
  if (!isRecord(under) || !isRecord(over)) return over;
  const names = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries(
    [...names].map((name) => [name, name in over ? merged(under[name], over[name]) : under[name]]),
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
