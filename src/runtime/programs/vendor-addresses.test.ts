import { expect, test } from "vitest";
import { withAddresses } from "./vendor-addresses.ts";

/* What the real programs make of it is in test/outside/as-written.test.ts. */

const settingsIn = (variable: string, variables: Record<string, string>) => JSON.parse(variables[variable] ?? "null");

test("Codex is told the address of OpenAI in its settings, with a version", () => {
  const given = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://models.example/", CODEX_CONFIG: '{"model":"m"}' };
  const variables = withAddresses({ quirks: "codex" }, given);
  const settings = { model: "m", openai_base_url: "https://models.example/v1" };
  expect(settingsIn("CODEX_CONFIG", variables)).toEqual(settings);
});

test("opencode is told the address of each vendor whose key is there", () => {
  const variables = withAddresses(
    { quirks: "opencode" },
    {
      ...{
        ANTHROPIC_API_KEY: "k",
        ANTHROPIC_BASE_URL: "http://a",
        OPENAI_API_KEY: "k",
        OPENAI_BASE_URL: "http://o/v1",
      },
      ...{ GEMINI_API_KEY: "k", GEMINI_BASE_URL: "http://g", OPENROUTER_BASE_URL: "http://r" },
      OPENCODE_CONFIG_CONTENT: '{"share":"disabled","provider":{"anthropic":{"name":"mine"}}}',
    },
  );
  expect(settingsIn("OPENCODE_CONFIG_CONTENT", variables)).toEqual({
    share: "disabled",
    provider: {
      anthropic: { name: "mine", options: { baseURL: "http://a/v1" } },
      openai: { options: { baseURL: "http://o/v1" } },
      google: { options: { baseURL: "http://g/v1beta" } },
    },
  });
});

test("Gemini CLI is told by its own variable, Claude Code without a version", () => {
  const gemini = { GEMINI_API_KEY: "k", GEMINI_BASE_URL: "http://g/v1beta" };
  expect(withAddresses({ quirks: "gemini" }, gemini)).toEqual({ ...gemini, GOOGLE_GEMINI_BASE_URL: "http://g" });
  const claude = { ANTHROPIC_BASE_URL: "http://a/proxy/v1/" };
  expect(withAddresses({ quirks: "claude" }, claude)).toEqual({ ANTHROPIC_BASE_URL: "http://a/proxy" });
});

test("an address without its key changes nothing: a login would be sent to it", () => {
  const addresses = { OPENAI_BASE_URL: "http://o", GEMINI_BASE_URL: "http://g", OPENROUTER_BASE_URL: "http://r" };
  for (const quirks of ["codex", "gemini", "opencode"] as const)
    expect(withAddresses({ quirks }, addresses)).toEqual(addresses);
});

test("what the profile sets in the program's own terms overrides the address", () => {
  const own = { GOOGLE_GEMINI_BASE_URL: "http://own", CODEX_CONFIG: '{"openai_base_url":"http://own"}' };
  const given = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://o", GEMINI_API_KEY: "k", GEMINI_BASE_URL: "http://g" };
  for (const quirks of ["codex", "gemini"] as const)
    expect(withAddresses({ quirks }, { ...given, ...own })).toEqual({ ...given, ...own });
});

test("settings that cannot be read, and a program that we do not know, are left as they are", () => {
  const given = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://o", CODEX_CONFIG: "{" };
  expect([withAddresses({ quirks: "codex" }, given), withAddresses({}, given)]).toEqual([given, given]);
});
