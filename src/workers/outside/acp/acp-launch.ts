import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ProgramProfile } from "../../../protocol/index.ts";
import type { PermissionPolicy } from "../session/permission-policy.ts";
import type { SessionSetup } from "../session/session.ts";

/**
 * What the ACP agents that we know need beside their command: settings in their own home, and variables. Each is kept
 * from asking the network for anything but its model, and from offering what only makes sense to a user at a terminal.
 */
export interface AcpLaunch {
  /** The profile that is there by itself. */
  profile: ProgramProfile & { quirks: AcpAgent };
  /** Files below its home; `own` is what its user's settings file says, if it gets that. */
  files(setup: SessionSetup, own: string | undefined): Record<string, string>;
  /** Where its settings are, if we write there. */
  settingsFile?: string;
  /** Variables, which the profile can override. A program that may do everything is not to ask; any other asks us. */
  env(setup: SessionSetup, policy: PermissionPolicy): Record<string, string>;
  /** The variable that holds its settings as JSON, and our settings; those of the profile override them. */
  settings?: { variable: string; of(setup: SessionSetup, policy: PermissionPolicy): Record<string, unknown> };
  args(setup: SessionSetup): string[];
}

const CODEX_FILE = ".codex/config.toml";
const GEMINI_FILE = ".gemini/settings.json";

export type AcpAgent = NonNullable<ProgramProfile["quirks"]>;

export const acpLaunch: Record<AcpAgent, AcpLaunch> = {
  claude: {
    profile: {
      kind: "acp",
      quirks: "claude",
      command: ["claude-agent-acp"],
      env: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
      share: [".claude/.credentials.json"],
      hosts: ["api.anthropic.com"],
      about: "Claude Code over ACP; its own protocol (claude-code) takes half the memory",
    },
    files: () => ({}),
    env: ({ model }) => ({
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
      ENABLE_TOOL_SEARCH: "false",
      ...(model ? { ANTHROPIC_MODEL: model } : {}),
    }),
    args: () => [],
  },
  codex: {
    profile: {
      kind: "acp",
      quirks: "codex",
      command: ["codex-acp"],
      env: ["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"],
      share: [".codex/auth.json"],
      hosts: ["api.openai.com", "chatgpt.com", "auth.openai.com"],
      about: "OpenAI Codex",
    },
    settingsFile: CODEX_FILE,
    // It must be there, or Codex does not start.
    files: (_job, own) => ({ [CODEX_FILE]: own ?? CODEX_SETTINGS }),
    env: (_job, policy) => ({
      NO_BROWSER: "1",
      // Its own sandbox would be one in another, where it cannot make one: no command would run. In any other mode only
      // what it asks for does.
      INITIAL_AGENT_MODE: policy === "allow" ? "agent-full-access" : "read-only",
    }),
    settings: {
      variable: "CODEX_CONFIG",
      of: ({ model, profile }) => ({ ...(profile.own_settings && CODEX_OVERRIDES), ...(model ? { model } : {}) }),
    },
    args: () => [],
  },
  gemini: {
    profile: {
      kind: "acp",
      quirks: "gemini",
      command: ["gemini", "--acp"],
      env: ["GEMINI_API_KEY", "GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"],
      share: [".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
      hosts: ["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
      about: "Gemini CLI",
    },
    settingsFile: GEMINI_FILE,
    files: ({ home }, own) => ({
      [GEMINI_FILE]: `${JSON.stringify(
        settingsOver(own, {
          security: {
            auth: { selectedType: signedIn(home, ".gemini/oauth_creds.json") ? "oauth-personal" : "gemini-api-key" },
            folderTrust: { enabled: false },
          },
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
        }),
        null,
        2,
      )}\n`,
    }),
    env: () => ({
      // Without it, it runs itself as a child and keeps signals from it.
      GEMINI_CLI_NO_RELAUNCH: "true",
      // With a terminal of its own for each command it tells nobody what the command wrote.
      GEMINI_PTY_INFO: "child_process",
    }),
    args: ({ model }) => (model ? ["-m", model] : []),
  },
  opencode: {
    profile: {
      kind: "acp",
      quirks: "opencode",
      command: ["opencode", "acp"],
      env: ["ANTHROPIC", "OPENAI", "OPENROUTER", "GEMINI"].flatMap((name) => [`${name}_API_KEY`, `${name}_BASE_URL`]),
      share: [".local/share/opencode/auth.json"],
      hosts: [
        "api.anthropic.com",
        "api.openai.com",
        "openrouter.ai",
        "generativelanguage.googleapis.com",
        "chatgpt.com",
        "opencode.ai",
      ],
      about: "opencode",
    },
    files: () => ({}),
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    }),
    settings: {
      variable: "OPENCODE_CONFIG_CONTENT",
      of: ({ model }, policy) => ({
        ...(model ? { model } : {}),
        autoupdate: false,
        share: "disabled",
        permission: policy === "allow" ? "allow" : { edit: "ask", bash: "ask", webfetch: "ask" },
      }),
    },
    args: () => [],
  },
};

/** Where the user is signed in is shared with it by a file in its home; we do not read the file itself. */
function signedIn(home: string, file: string): boolean {
  return existsSync(join(home, file));
}

/** Plugins are fetched from the network at the start; a daemon would outlive its work. */
const CODEX_SETTINGS = `check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
daemon_auto_start = false
`;

/** The same where the file is its user's. */
const CODEX_OVERRIDES = {
  check_for_update_on_startup: false,
  analytics: { enabled: false },
  features: { plugins: false, daemon_auto_start: false },
};

/** Our settings over those of its user, section by section; settings that cannot be read are left out. */
function settingsOver(own: string | undefined, ours: Record<string, Record<string, unknown>>): Record<string, unknown> {
  const theirs = recordIn(own ?? "{}");
  const sections = Object.entries(ours).map(([name, section]) => [name, { ...asRecord(theirs[name]), ...section }]);
  return { ...theirs, ...Object.fromEntries(sections) };
}

function recordIn(text: string): Record<string, unknown> {
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return {};
  }
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

/** How an agent is started: by what its profile says, and by what we know of it. */
export function launchOf(
  setup: SessionSetup,
  policy: PermissionPolicy,
): { argv: [string, ...string[]]; env: Record<string, string> } {
  const { command, set = {}, quirks } = setup.profile;
  const [program = "", ...args] = command;
  const known = quirks && acpLaunch[quirks];
  if (!known) return { argv: [program, ...args], env: set };
  const env = { ...known.env(setup, policy), ...set };
  if (known.settings) {
    const { variable } = known.settings;
    env[variable] = withSettings(set[variable], known.settings.of(setup, policy));
  }
  return { argv: [program, ...args, ...known.args(setup)], env };
}

function withSettings(given: string | undefined, ours: Record<string, unknown>): string {
  try {
    return JSON.stringify({ ...ours, ...(given === undefined ? {} : JSON.parse(given)) });
  } catch {
    // It says itself what is wrong with what it was given.
    return given ?? "";
  }
}
