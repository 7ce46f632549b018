import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { vi } from "vitest";
import type { Config } from "../../src/protocol/config.ts";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import type { ProviderRequest, ProviderTurn } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "./installed.ts";

/** The real Claude Code, in the real sandbox, with a scripted model behind it. */
export const CLAUDE = installed("claude", ".bin/claude");
export const withClaude = whenInstalled("claude", ".bin/claude");

export function claudeProfile(url: string, more: Partial<ProgramProfile> = {}): ProgramProfile {
  const set = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
  return { kind: "claude_code", command: [CLAUDE], set, ...more };
}

export function claudeHouse(url: string, config: Config = {}) {
  return {
    config: { programs: { "claude-code": claudeProfile(url) }, ...config },
    env: { PATH: process.env.PATH },
  };
}

/** A call of one of our tools, as Claude Code's model makes it. */
export const ours = (name: string, args: unknown): ProviderTurn => ({
  calls: [{ name: `mcp__agiraph__${name}`, args }],
});

export const shell = (command: string): ProviderTurn => ({
  calls: [{ name: "Bash", args: { command, description: "Do it" } }],
});

export const wordsOf = (request: ProviderRequest) => request.messages.map((message) => message.text).join("\n");

/** Whether the model is asked for the work itself, and not one of the program's little side questions. */
export const isWork = ({ body }: ProviderRequest) => Array.isArray(body.tools) && body.tools.length > 0;

/**
 * Resolves when these words are in what a program itself keeps of its session, somewhere in this folder: it writes that
 * down a while after it has begun to act, and what is killed before cannot be resumed where it was.
 */
export async function isKept(folder: string, session_id: string, words: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const paths = await readdir(folder, { recursive: true });
      const path = paths.find((each) => each.endsWith(`${session_id}.jsonl`));
      const text = path ? await readFile(join(folder, path), "utf8") : "";
      if (!text.includes(words)) throw new Error(`It has not kept "${words}" in ${path ?? "any session"}.`);
    },
    { timeout: 120_000, interval: 20 },
  );
}
