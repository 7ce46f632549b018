import { delimiter, dirname } from "node:path";
import { expect } from "vitest";
import { agiraph } from "../../src/cli/testing/cli-process.ts";
import { startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "./installed.ts";
import { realPrograms } from "./real-programs.ts";

/* The commands of docs/outside-agents.md by the terminal, with the key and the address of README.md's table and nothing configured. */

interface Written {
  program: keyof typeof realPrograms;
  bin: string;
  /** The provider whose key and address are set. */
  vendor: "ANTHROPIC" | "OPENAI" | "GEMINI";
  /** As it is named in the command. */
  model: string;
  /** What people write after the address, or leave out. */
  version?: string;
}

const WRITTEN: readonly Written[] = [
  { program: "claude-code", bin: "claude", vendor: "ANTHROPIC", model: "claude-code" },
  { program: "codex", bin: "codex-acp", vendor: "OPENAI", model: "codex" },
  { program: "codex", bin: "codex-acp", vendor: "OPENAI", model: "codex", version: "/v1/" },
  { program: "gemini", bin: "gemini", vendor: "GEMINI", model: "gemini" },
  { program: "opencode", bin: "opencode", vendor: "ANTHROPIC", model: "opencode/anthropic/claude-sonnet-4-5" },
  { program: "opencode", bin: "opencode", vendor: "OPENAI", model: "opencode/openai/gpt-5", version: "/v1" },
];

for (const { program: name, bin, vendor, model, version = "" } of WRITTEN) {
  const program = realPrograms[name];
  const test = whenInstalled(...program.files);
  test(`agiraph run "…" --model ${model} reaches ${vendor}_BASE_URL${version && ` with ${version}`}`, async () => {
    await using provider = await startProviderServer({
      respond: ({ api, body, tools }) => {
        if (!JSON.stringify(body).includes("Which colour is it?")) return { text: "A title" };
        // Gemini CLI asks first which model it is to ask.
        if (api === "gemini" && tools.length === 0)
          return { text: '{"reasoning":"It is simple.","model_choice":"flash"}' };
        return program.ours("finish", { summary: "It is red.", learned: "" });
      },
    });
    await using home = await temporaryHome();
    const path = [dirname(installed(program.files[0], `.bin/${bin}`)), process.env.PATH].join(delimiter);
    const key = { [`${vendor}_API_KEY`]: "sk-any-000000000000000000000000" };
    const address = { [`${vendor}_BASE_URL`]: `${provider.url}${version}` };
    const words = ["run", "Which colour is it?", "--model", model, "--home", home.path];
    const ended = await agiraph(words, {
      folder: home.path,
      env: { PATH: path, HOME: home.path, ...key, ...address },
    });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("It is red.") });
  });
}
