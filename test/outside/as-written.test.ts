import { writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { expect } from "vitest";
import { agiraph } from "../../src/cli/testing/cli-process.ts";
import { startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "./installed.ts";
import { realPrograms } from "./real-programs.ts";

/* The commands of docs/outside-agents.md by the terminal, with a key and nothing configured; only the addresses of the vendors are another. */

interface Written {
  bin: string;
  env: Record<string, string>;
  /** As it is named in the command. */
  model?: string;
  /** Where the program has no variable for the address of its vendor. */
  set?(url: string): Record<string, string>;
}

const WRITTEN: Record<keyof typeof realPrograms, (url: string) => Written> = {
  "claude-code": (url) => ({
    bin: "claude",
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-any-000000000000000000000000" },
  }),
  codex: () => ({
    bin: "codex-acp",
    env: { OPENAI_API_KEY: "sk-any" },
    set: (url) => ({ CODEX_CONFIG: JSON.stringify({ openai_base_url: `${url}/v1` }) }),
  }),
  gemini: (url) => ({ bin: "gemini", env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "any" } }),
  opencode: () => ({
    bin: "opencode",
    model: "opencode/anthropic/claude-sonnet-4-5",
    env: { ANTHROPIC_API_KEY: "sk-ant-any-000000000000000000000000" },
    set: (url) => ({
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { anthropic: { options: { baseURL: `${url}/v1` } } } }),
    }),
  }),
};

for (const [name, program] of Object.entries(realPrograms)) {
  whenInstalled(...program.files)(`agiraph run "…" --model ${name}, as the guide has it`, async () => {
    await using provider = await startProviderServer({
      respond: ({ api, body, tools }) => {
        if (!JSON.stringify(body).includes("Which colour is it?")) return { text: "A title" };
        // Gemini CLI asks first which model it is to ask.
        if (api === "gemini" && tools.length === 0)
          return { text: '{"reasoning":"It is simple.","model_choice":"flash"}' };
        return program.ours("finish", { summary: "It is red.", learned: "" });
      },
    });
    const { bin, env, set, model = name } = WRITTEN[name as keyof typeof realPrograms](provider.url);
    await using home = await temporaryHome();
    if (set) {
      const programs = { [name]: { set: set(provider.url), hosts: [new URL(provider.url).host] } };
      await writeFile(join(home.path, "config.json"), JSON.stringify({ programs }));
    }
    const path = [dirname(installed(program.files[0], `.bin/${bin}`)), process.env.PATH].join(delimiter);
    const words = ["run", "Which colour is it?", "--model", model, "--home", home.path];
    const ended = await agiraph(words, { folder: home.path, env: { PATH: path, HOME: home.path, ...env } });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("It is red.") });
  });
}
