import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codexModes } from "./codex-modes.ts";
import { lastSessionIn } from "./hook-file.ts";
import { SessionNotes } from "./session-notes.ts";
import { asMarkdown, asToml, SLASH_COMMANDS } from "./slash-commands.ts";
import type { TerminalKindName } from "./terminal-kind.ts";

/** What a terminal program is started with. */
export interface TerminalSetup {
  kind: TerminalKindName;
  /** The program's own home: its settings, sessions and commands. It is shared with nobody, and kept. */
  home: string;
  /** Where it works: the user's project. */
  cwd: string;
  /** Who it is and how it works here. */
  prompt: string;
  /** The model it is asked to use, where it can choose. */
  model: string | null;
  /** Whether a person is asked before it does something, in the terminal; null leaves edits to it and asks for the rest. */
  permissions: "ask" | "allow" | "deny" | null;
  /** The program, as a person starts it, and what it is given of the environment. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** How `tx` is called in there. */
  tx: readonly string[];
  /** Whether the conversation of the former session goes on: its task is not done. */
  resumes: boolean;
  /** Folders in the project that belong to others: it must not write there, as far as the program can be kept from it. */
  ofOthers: readonly string[];
}

export interface PreparedTerminal {
  argv: [string, ...string[]];
  env: Record<string, string>;
  /** Where its hooks write. */
  hooks: string | null;
}

/**
 * Prepares a program's home. The prompt goes where the program reads its permanent instructions, so that the program
 * knows that text typed later comes from us; its first-run questions are answered in advance; the slash commands are
 * installed. Nothing is written to the user's project.
 */
export async function prepareTerminalHome(setup: TerminalSetup): Promise<PreparedTerminal> {
  const { home, kind, command } = setup;
  const put = (path: string, text: string) => putFile(join(home, path), text);
  const [program = "sh", ...words] = command;
  await put(PROMPT, setup.prompt);
  await put(join("bin", "tx"), `#!/bin/sh\nexec ${setup.tx.map(quoted).join(" ")} "$@"\n`);
  await chmod(join(home, "bin", "tx"), 0o700);
  await mkdir(join(home, "tmp"), { recursive: true });
  const env = {
    ...setup.env,
    HOME: home,
    TMPDIR: join(home, "tmp"),
    PATH: `${join(home, "bin")}:${setup.env.PATH ?? "/usr/local/bin:/usr/bin:/bin"}`,
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
    LANG: setup.env.LANG ?? "C.UTF-8",
    TX_PROMPT: join(home, PROMPT),
    TX_SESSION: join(home, NOTES),
  };
  // A login shell begins with the machine's PATH, and programs run their commands in such.
  for (const file of [".profile", ".bash_profile", ".bashrc", ".zprofile", ".zshrc"])
    await put(file, `export PATH=${quoted(env.PATH)}\n`);
  const more = await WAYS[kind](setup, put, env);
  const task = notesOf(home).lastTask();
  notesOf(home).begin(task === undefined ? null : { task, isResumed: more.isResumed ?? false });
  return {
    argv: [program, ...words, ...(more.args ?? [])],
    env: { ...env, ...more.env },
    hooks: more.hooks ?? null,
  };
}

const PROMPT = ".tx/prompt.md";
const NOTES = ".tx/session";
const HOOKS = ".tx/hooks.ndjson";

/** The file to which the hooks of a program in this home write, if it has hooks. */
export function hooksOf(kind: TerminalKindName, home: string): string | null {
  return kind === "claude" ? join(home, HOOKS) : null;
}

export function notesOf(home: string): SessionNotes {
  return new SessionNotes(join(home, NOTES));
}

type Put = (path: string, text: string) => Promise<void>;
type Way = (
  setup: TerminalSetup,
  put: Put,
  env: Readonly<Record<string, string>>,
) => Promise<{ args?: string[]; env?: Record<string, string>; hooks?: string; isResumed?: boolean }>;

const WAYS: Readonly<Record<TerminalKindName, Way>> = {
  plain: async () => ({}),

  async claude(setup, put) {
    const { home, cwd, env, model, permissions } = setup;
    const hooks = join(home, HOOKS);
    const session = setup.resumes ? lastSessionIn((await textOf(hooks)) ?? "") : undefined;
    await put(HOOKS, "");
    await put(".claude.json", JSON.stringify(await claudeRecord(home, cwd, env), null, 2));
    const command = `{ cat; echo; } >> ${quoted(hooks)}`;
    const entry = [{ hooks: [{ type: "command", command }] }];
    const allow = permissions === "allow" ? EVERYTHING : ["Bash(tx:*)", "Bash(tx)"];
    const settings = {
      permissions: { allow, deny: setup.ofOthers.map((folder) => noEditIn(join(cwd, folder))) },
      hooks: Object.fromEntries(CLAUDE_HOOKS.map((event) => [event, entry])),
    };
    await put(".claude/settings.json", JSON.stringify(settings, null, 2));
    for (const one of SLASH_COMMANDS)
      await put(`.claude/commands/${one.name}.md`, asMarkdown(one, { "allowed-tools": "Bash(tx:*)" }));
    return {
      args: [
        ...NO_PROJECT_SETTINGS,
        ...["--append-system-prompt-file", join(home, PROMPT)],
        ...["--permission-mode", CLAUDE_MODES[permissions ?? "none"]],
        ...(model === null ? [] : ["--model", model]),
        ...(session === undefined ? [] : ["--resume", session]),
      ],
      isResumed: session !== undefined,
      env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
      hooks,
    };
  },

  async codex({ home, cwd, prompt, model, permissions, resumes, ofOthers }, put) {
    await put(".codex/AGENTS.md", prompt);
    await put(".codex/rules/tx.rules", 'prefix_rule(pattern = ["tx"], decision = "allow")\n');
    for (const one of SLASH_COMMANDS) await put(`.codex/prompts/${one.name}.md`, asMarkdown(one));
    const settings = await textOf(join(home, ".codex", "config.toml"));
    // A home from before this was so.
    if (settings?.includes(TRUSTED)) await put(".codex/config.toml", settings.replaceAll(TRUSTED, UNTRUSTED));
    if (settings === undefined) {
      // What the person agreed to does not cover the project's own .codex/: Codex reads it only where it is trusted.
      const trust = `[projects.${JSON.stringify(cwd)}]\n${UNTRUSTED}\n`;
      await put(".codex/config.toml", `${CODEX_SETTINGS}\n${trust}`);
    }
    return {
      args: [
        // Its home is its own, so the last conversation there is that of its former session.
        ...(resumes ? ["resume", "--last"] : []),
        ...codexModes(
          permissions,
          ofOthers.map((folder) => join(cwd, folder)),
        ),
        ...(model === null ? [] : ["--model", model]),
      ],
      isResumed: resumes,
      env: { CODEX_HOME: join(home, ".codex") },
    };
  },

  async gemini({ home, cwd, prompt, model, env, permissions, resumes, ofOthers }, put) {
    await put(".gemini/GEMINI.md", prompt);
    await put(".gemini/policies/tx.toml", [GEMINI_POLICY, ...ofOthers.map(noWriteOfGemini)].join("\n"));
    for (const one of SLASH_COMMANDS) await put(`.gemini/commands/${one.name}.toml`, asToml(one));
    if ((await textOf(join(home, ".gemini", "settings.json"))) === undefined) {
      const auth = env.GEMINI_API_KEY ? { auth: { selectedType: "gemini-api-key" } } : {};
      const settings = {
        security: { ...auth, folderTrust: { enabled: true } },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        ui: { theme: "Default" },
      };
      await put(".gemini/settings.json", JSON.stringify(settings, null, 2));
    }
    // Gemini runs what a trusted folder says in .gemini/, which the person did not agree to: with one it asks for all.
    const level = existsSync(join(cwd, ".gemini")) ? "DO_NOT_TRUST" : "TRUST_FOLDER";
    await put(".gemini/trustedFolders.json", JSON.stringify({ [cwd]: level }, null, 2));
    return {
      args: [
        ...(resumes ? ["--resume", "latest"] : []),
        ...["--approval-mode", GEMINI_MODES[permissions ?? "none"]],
        ...(model === null ? [] : ["-m", model]),
      ],
      isResumed: resumes,
      env: { GEMINI_CLI_NO_RELAUNCH: "true" },
    };
  },

  async opencode({ prompt, model, permissions, resumes, ofOthers }, put) {
    await put(".config/opencode/AGENTS.md", prompt);
    for (const one of SLASH_COMMANDS) await put(`.config/opencode/command/${one.name}.md`, asMarkdown(one));
    const { edit, ...others } = OPENCODE_PERMISSIONS[permissions ?? "none"];
    // Of rules that fit the last one counts; a path begins at the repository's root, or at the disk's.
    const denied = Object.fromEntries(ofOthers.map((folder) => [`*${folder}/*`, "deny"]));
    const permission = JSON.stringify({ ...others, edit: { "*": edit, ...denied } });
    return {
      args: [...(resumes ? ["--continue"] : []), ...(model === null ? [] : ["--model", model])],
      isResumed: resumes,
      // Without it, opencode runs the plugins of the project's opencode.json and .opencode/.
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_PROJECT_CONFIG: "1",
        OPENCODE_PERMISSION: permission,
      },
    };
  },
};

/** Hooks, permissions and MCP servers that a project brings along: nobody has agreed to them. */
const NO_PROJECT_SETTINGS = ["--setting-sources", "user", "--strict-mcp-config"];
const CLAUDE_HOOKS = [
  ...["SessionStart", "UserPromptSubmit", "PermissionRequest", "Notification", "Stop", "StopFailure", "SessionEnd"],
];
const CLAUDE_MODES = { none: "acceptEdits", allow: "acceptEdits", ask: "manual", deny: "dontAsk" } as const;
const TRUSTED = 'trust_level = "trusted"';
const UNTRUSTED = 'trust_level = "untrusted"';
/** A daemon would outlive its work, and plugins are fetched from the network at the start. */
const CODEX_SETTINGS = `check_for_update_on_startup = false

[features]
plugins = false
daemon_auto_start = false
`;
const GEMINI_MODES = { none: "auto_edit", allow: "yolo", ask: "default", deny: "plan" } as const;
const GEMINI_POLICY = `[[rule]]
toolName = "run_shell_command"
commandPrefix = "tx"
decision = "allow"
priority = 100
`;
const OPENCODE_PERMISSIONS = {
  none: { edit: "allow", webfetch: "ask", bash: { "*": "ask", "tx *": "allow" } },
  allow: { "*": "allow", edit: "allow" },
  ask: { edit: "ask", webfetch: "ask", bash: { "*": "ask", "tx *": "allow" } },
  deny: { edit: "deny", webfetch: "deny", bash: { "*": "deny", "tx *": "allow" } },
} as const;
const EVERYTHING = ["Bash", "Edit", "Write", "Read", "WebFetch", "WebSearch", "NotebookEdit"];

/**
 * What Claude Code asks at its first start is answered, for this folder alone: a terminal is begun only where the person
 * trusted the mesh with terminals, and was told that this question is answered for it.
 */
async function claudeRecord(home: string, cwd: string, env: Readonly<Record<string, string>>): Promise<object> {
  const before = parsed(await textOf(join(home, ".claude.json")));
  const key = env.ANTHROPIC_API_KEY;
  const projects = isRecord(before.projects) ? before.projects : {};
  const own = isRecord(projects[cwd]) ? projects[cwd] : {};
  return {
    ...before,
    hasCompletedOnboarding: true,
    ...(key && { customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] } }),
    projects: { ...projects, [cwd]: { ...own, hasTrustDialogAccepted: true } },
  };
}

async function putFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { mode: 0o600 });
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

function parsed(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** It holds for all tools of Claude Code that edit files, and for what its commands redirect to a file. */
function noEditIn(folder: string): string {
  return `Edit(/${folder.replaceAll(/[\\*?[\]{}!]/g, "\\$&")}/**)`;
}

function noWriteOfGemini(folder: string): string {
  return `[[rule]]
toolName = ["write_file", "replace"]
argsPattern = '"file_path":"[^"]*${folder.replaceAll(".", "\\.")}/'
decision = "deny"
priority = 200
`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
