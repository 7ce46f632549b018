import type { ProgramProfile } from "../../src/protocol/index.ts";
import type { ProviderCall } from "../../src/testing/index.ts";
import { installed } from "../outside/installed.ts";

/** A program of others in its terminal, with a scripted model behind it. */
export interface OtherProgram {
  /** Where it is installed. */
  file: readonly [group: string, file: string];
  model: string | null;
  /** Its own tool for commands; one that does not ask where it need not. */
  shell(command: string): ProviderCall;
  /** The same, so that a person is asked. */
  asks(command: string): ProviderCall;
  shellTool: string;
  /** The key with which a person allows it, once. */
  yes: string;
  profile(url: string): ProgramProfile;
}

export const OTHER_PROGRAMS = {
  codex: {
    file: ["acp", ".bin/codex"],
    model: "gpt-5.5",
    shellTool: "exec_command",
    shell: (cmd) => ({ name: "exec_command", args: { cmd } }),
    asks: (cmd) => ({
      name: "exec_command",
      args: { cmd, sandbox_permissions: "require_escalated", justification: "It is needed." },
    }),
    yes: "y",
    profile: (url) => ({
      kind: "acp",
      quirks: "codex",
      command: [installed("acp", ".bin/codex")],
      terminal: [installed("acp", ".bin/codex"), ...codexSettings(url).flatMap((line) => ["-c", line])],
      set: { SCRIPTED_KEY: "any" },
    }),
  },
  gemini: {
    file: ["gemini", ".bin/gemini"],
    model: "gemini-2.5-pro",
    shellTool: "run_shell_command",
    shell: (command) => ({ name: "run_shell_command", args: { command, description: "Run it" } }),
    asks: (command) => ({ name: "run_shell_command", args: { command, description: "Run it" } }),
    yes: "1",
    profile: (url) => ({
      kind: "acp",
      quirks: "gemini",
      command: [installed("gemini", ".bin/gemini"), "--acp"],
      terminal: [installed("gemini", ".bin/gemini")],
      set: { GEMINI_API_KEY: "any", GOOGLE_GEMINI_BASE_URL: url },
    }),
  },
  opencode: {
    file: ["opencode", ".bin/opencode"],
    model: null,
    shellTool: "bash",
    shell: (command) => ({ name: "bash", args: { command, description: "Run it" } }),
    asks: (command) => ({ name: "bash", args: { command, description: "Run it" } }),
    yes: "Enter",
    profile: (url) => ({
      kind: "acp",
      quirks: "opencode",
      command: [installed("opencode", ".bin/opencode"), "acp"],
      terminal: [installed("opencode", ".bin/opencode")],
      set: {
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeSettings(url)),
      },
    }),
  },
} as const satisfies Record<string, OtherProgram>;

function codexSettings(url: string): string[] {
  const provider = `name="Scripted",base_url="${url}/v1",env_key="SCRIPTED_KEY",wire_api="responses"`;
  return [
    'model_provider="scripted"',
    `model_providers.scripted={${provider},request_max_retries=1,stream_max_retries=1,supports_websockets=false}`,
    // Else it begins with news of another model.
    'notice.model_migrations={"gpt-5.5"="gpt-6-sol"}',
  ];
}

function opencodeSettings(url: string): object {
  const models = { some: { name: "Some", tool_call: true, limit: { context: 200_000, output: 8192 } } };
  const scripted = {
    npm: "@ai-sdk/openai-compatible",
    name: "Scripted",
    options: { baseURL: `${url}/v1`, apiKey: "any" },
    models,
  };
  const model = "scripted/some";
  return { model, small_model: model, share: "disabled", enabled_providers: ["scripted"], provider: { scripted } };
}
