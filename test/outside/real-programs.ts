import type { ProgramProfile } from "../../src/protocol/index.ts";
import type { ProviderTurn } from "../../src/testing/index.ts";
import { acpProfile, askingStep, ourStep, realAgents, shellStep } from "./real-acp.ts";
import { claudeProfile, ours, shell } from "./real-claude.ts";

/** A real program, as it is installed, with a scripted model behind it. */
export interface RealProgram {
  /** The group it is installed in, and the file that is run. */
  files: [string, string];
  profile(url: string, more?: Partial<ProgramProfile>): ProgramProfile;
  model?: string;
  /** One step of its model: a command of its own shell, or a call of one of our tools. */
  shell(command: string): ProviderTurn;
  /** The same, so that a person is asked where they want that. */
  asks(command: string): ProviderTurn;
  ours(tool: string, args: unknown): ProviderTurn;
}

const acp = (name: "codex" | "gemini" | "opencode"): RealProgram => ({
  files: realAgents[name].files,
  profile: (url, more) => acpProfile(name, url, more),
  model: realAgents[name].model,
  shell: (command) => shellStep(name, command),
  asks: (command) => askingStep(name, command),
  ours: (tool, args) => ourStep(name, tool, args),
});

export const realPrograms: Readonly<Record<"claude-code" | "codex" | "gemini" | "opencode", RealProgram>> = {
  "claude-code": { files: ["claude", ".bin/claude"], profile: claudeProfile, shell, asks: shell, ours },
  codex: acp("codex"),
  gemini: acp("gemini"),
  opencode: acp("opencode"),
};
