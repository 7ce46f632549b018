import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import {
  type ProviderCall,
  type ProviderRequest,
  type ProviderTurn,
  startProviderServer,
} from "../../src/testing/index.ts";
import { installed, whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";
import { OTHER_PROGRAMS } from "./other-programs.ts";
import { withTmux } from "./terminals.ts";

/*
 * Terminals that work at the same time: what their programs can be kept from. What holds in the sandbox is in hosting and
 * plain.
 */

interface Writer {
  name: string;
  file: readonly [group: string, file: string];
  model: string | null;
  profile(url: string): ProgramProfile;
  write(path: string, content: string): ProviderCall;
  shell(command: string): ProviderCall;
  /** Whether its commands are kept from it, too. */
  isShellKept: boolean;
  /** It is kept from it by the sandbox that it has where a person gave it no permissions. */
  needsOwnSandbox?: true;
}

const { codex, gemini, opencode } = OTHER_PROGRAMS;
const WRITERS: Writer[] = [
  {
    name: "claude-code",
    file: ["claude", ".bin/claude"],
    model: null,
    profile: (url) => ({
      kind: "claude_code",
      quirks: "claude",
      command: [installed("claude", ".bin/claude")],
      set: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" },
    }),
    write: (file_path, content) => ({ name: "Write", args: { file_path, content } }),
    shell: (command) => ({ name: "Bash", args: { command, description: "Run it" } }),
    isShellKept: true,
  },
  {
    ...codex,
    name: "codex",
    write: (path, content) => codex.shell(`printf '${content}' > ${path}`),
    isShellKept: true,
    needsOwnSandbox: true,
  },
  {
    ...gemini,
    name: "gemini",
    write: (file_path, content) => ({ name: "write_file", args: { file_path, content } }),
    isShellKept: false,
  },
  {
    ...opencode,
    name: "opencode",
    write: (filePath, content) => ({ name: "write", args: { filePath, content } }),
    isShellKept: false,
  },
];

for (const { name, file, model, profile, write, shell, isShellKept, needsOwnSandbox } of WRITERS) {
  const withProgram = withTmux === test ? whenInstalled(...file) : test.skip;

  withProgram(
    `${name} in two terminals that work at the same time: neither writes into the folder of the other`,
    { timeout: 240_000 },
    async () => {
      // Codex asks its model again while a command runs.
      const answers = new Map<string, string[]>();
      const respond = ({ tools, messages }: ProviderRequest): ProviderTurn => {
        const heard = messages.map(({ text }) => text).join("\n");
        if (tools.length === 0 || !heard.includes("# Write")) return { text: "ok" };
        const [me, other] = heard.includes("for both/one from") ? ["one", "two"] : ["two", "one"];
        const made = messages.flatMap((each) => (each.role === "assistant" ? each.calls : []));
        const [own, theirs] = [me, other].map((agent) => join(output, agent, "same.md"));
        const turns = [
          write(own ?? "", `by ${me}\n`),
          write(theirs ?? "", `by ${me}\n`),
          ...(isShellKept ? [shell(`echo "by ${me}" > ${theirs}`)] : []),
          shell('tx done "Written."'),
        ];
        if (made.length === turns.length - 1)
          answers.set(
            me ?? "",
            messages.flatMap((each) => (each.role === "tool" ? each.text : [])),
          );
        const next = turns[made.length];
        return next ? { calls: [next] } : { text: "Said." };
      };
      await using provider = await startProviderServer({ respond });
      await using house = new MeshHouse({
        meshes: [{ mesh: "both", type: "persistent", agents: ["x/one", "x/two"], topology: "parallel" }],
        agents: Object.fromEntries(
          ["one", "two"].map((agent) => [agent, { options: { program: name, runs: "tmux", ...(model && { model }) } }]),
        ),
        config: {
          programs: { [name]: { ...profile(provider.url), ...(!needsOwnSandbox && { permissions: "allow" }) } },
        },
      });
      const output = house.layout.output("both");
      await (await house.open()).start();
      await house.send("both", { text: "# Write\n" });
      await house.completed("both");
      const made = ["one", "two"].map((agent) => join(output, agent, "same.md"));
      expect(made.map((path) => existsSync(path) && readFileSync(path, "utf8"))).toEqual(["by one\n", "by two\n"]);
      // Each was refused, and not only overwritten again by the other's own.
      const refused = [...answers.values()].flatMap((each) => each.slice(1));
      expect(refused).toHaveLength(isShellKept ? 4 : 2);
      for (const answer of refused) expect(answer).toMatch(/denied|prevents you|not allowed|Read-only file system/i);
    },
  );
}
