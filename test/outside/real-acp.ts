import type { ProgramProfile } from "../../src/protocol/index.ts";
import type { ProviderTurn } from "../../src/testing/index.ts";
import { type AcpAgent, acpLaunch } from "../../src/workers/outside/acp/acp-launch.ts";
import { installed } from "./installed.ts";

/** The real ACP agents, as they are installed, with a scripted provider behind them. */
export interface RealAgent {
  /** The group it is installed in, and the file that is run. */
  files: [string, string];
  /** What its model calls one of our tools. */
  ours(tool: string): string;
  /** A call of its own by which it runs a command. */
  shell(command: string): { name: string; args: unknown };
  set(url: string): Record<string, string>;
  model: string;
}

export const realAgents: Record<AcpAgent, RealAgent> = {
  codex: {
    files: ["acp", "@agentclientprotocol/codex-acp/dist/index.js"],
    ours: (tool) => `mcp__agiraph/${tool}`,
    shell: (cmd) => ({ name: "exec_command", args: { cmd } }),
    set: (url) => ({
      MODEL_PROVIDER: "scripted",
      SCRIPTED_KEY: "any",
      CODEX_CONFIG: JSON.stringify(codexConfig(url)),
    }),
    model: "gpt-5.5",
  },
  claude: {
    files: ["acp", "@agentclientprotocol/claude-agent-acp/dist/index.js"],
    ours: (tool) => `mcp__agiraph__${tool}`,
    shell: (command) => ({ name: "Bash", args: { command, description: "Do it" } }),
    set: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-any-000000000000000000000000" }),
    model: "claude-sonnet-4-5",
  },
  gemini: {
    files: ["gemini", "@google/gemini-cli/bundle/gemini.js"],
    ours: (tool) => `mcp_agiraph_${tool}`,
    shell: (command) => ({ name: "run_shell_command", args: { command, description: "Do it" } }),
    set: (url) => ({ GEMINI_API_KEY: "any", GOOGLE_GEMINI_BASE_URL: url }),
    model: "gemini-2.5-pro",
  },
  opencode: {
    files: ["opencode", ".bin/opencode"],
    ours: (tool) => `agiraph_${tool}`,
    shell: (command) => ({ name: "bash", args: { command, description: "Do it" } }),
    set: (url) => ({ OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(url)) }),
    model: "scripted/some-model",
  },
};

/** How it is started; `permissions` are left out, as a person leaves them out. */
export function acpProfile(name: AcpAgent, url: string, more: Partial<ProgramProfile> = {}): ProgramProfile {
  const { files, set } = realAgents[name];
  const file = installed(...files);
  const started = file.endsWith(".js") ? [process.execPath, file] : [file];
  const command = [...started, ...acpLaunch[name].profile.command.slice(1)];
  return { kind: "acp", quirks: name, command, set: set(url), hosts: [new URL(url).host], ...more };
}

/** One step of its model: calls of its own shell or of our tools. */
export function shellStep(name: AcpAgent, command: string): ProviderTurn {
  return { calls: [realAgents[name].shell(command)] };
}

/** The same, so that a person is asked where they want that: Codex asks for what is to run outside its own sandbox. */
export function askingStep(name: AcpAgent, command: string): ProviderTurn {
  const { args, ...call } = realAgents[name].shell(command);
  const escalated = { sandbox_permissions: "require_escalated", justification: "May I?" };
  return { calls: [{ ...call, args: name === "codex" ? { ...(args as object), ...escalated } : args }] };
}

export function ourStep(name: AcpAgent, tool: string, args: unknown): ProviderTurn {
  return { calls: [{ name: realAgents[name].ours(tool), args }] };
}

function codexConfig(url: string) {
  const scripted = {
    name: "Scripted",
    base_url: `${url}/v1`,
    env_key: "SCRIPTED_KEY",
    wire_api: "responses",
    request_max_retries: 0,
    stream_max_retries: 0,
    supports_websockets: false,
  };
  return { model_provider: "scripted", model_providers: { scripted } };
}

function opencodeConfig(url: string) {
  const models = { "some-model": { name: "Some", tool_call: true, limit: { context: 200_000, output: 8192 } } };
  const options = { baseURL: `${url}/v1`, apiKey: "any" };
  const scripted = { npm: "@ai-sdk/openai-compatible", name: "Scripted", options, models };
  return { small_model: "scripted/some-model", enabled_providers: ["scripted"], provider: { scripted } };
}
