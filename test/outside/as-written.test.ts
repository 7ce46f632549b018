import { access, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { agiraph, CliProcess } from "../../src/cli/testing/cli-process.ts";
import { type ProviderTurn, startProviderServer, temporaryHome } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
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
  const whenThere = whenInstalled(...program.files);
  whenThere(`agiraph run "…" --model ${model} reaches ${vendor}_BASE_URL${version && ` with ${version}`}`, async () => {
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

/** A coordinator that hires, if at all, gives one task and reports what came of it. */
async function leads(hires: readonly { name: string; args: unknown }[], task: Record<string, unknown>) {
  const steps: ProviderTurn[] = [
    ...(hires.length > 0 ? [{ calls: hires }] : []),
    { calls: [{ name: "create_work_node", args: { task: "Count the words.", ...task } }] },
  ];
  const provider = await startProviderServer({
    respond: ({ turn, body }) =>
      JSON.stringify(body).includes("node-1 completed")
        ? { calls: [{ name: "finish", args: { summary: "It is counted.", learned: "" } }] }
        : (steps[turn] ?? { text: "I wait." }),
  });
  const home = await temporaryHome();
  const env = { HOME: home.path, OPENAI_API_KEY: "sk-any", OPENAI_BASE_URL: provider.url };
  const words = ["run", "Have the words counted", "--model", "openai/gpt-5", "--home", home.path];
  return {
    ...{ env, words, home: home.path },
    async configure(command: string) {
      const programs = { counter: { kind: "autonomous", command: ["sh", "-c", command] } };
      await writeFile(join(home.path, "config.json"), JSON.stringify({ programs }));
    },
    async published(): Promise<string> {
      const [agent = ""] = await readdir(join(home.path, "agents"));
      return readFile(join(home.path, "agents", agent, "runs/run-1/nodes/node-1/published/stdout.txt"), "utf8");
    },
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const hiresCounter = [{ name: "spawn_worker", args: { name: "Paul", program: "counter" } }];

describe.skipIf(skipped)(`a program of one's own ${skipped}`, () => {
  test("works when the coordinator hires it by its name", async () => {
    await using at = await leads(hiresCounter, { worker: "Paul" });
    await at.configure("wc -w _task.md");
    const ended = await agiraph(at.words, { folder: at.home, env: at.env });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("It is counted.") });
    expect(await at.published()).toMatch(/^\d+ _task\.md\n$/);
  });

  test("is every worker with --worker-model, and cannot lead", async () => {
    await using at = await leads([], {});
    await at.configure("wc -w _task.md");
    const ended = await agiraph([...at.words, "--worker-model", "counter"], { folder: at.home, env: at.env });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("It is counted.") });
    expect(await at.published()).toMatch(/^\d+ _task\.md\n$/);
    const words = at.words.map((word) => (word === "openai/gpt-5" ? "counter" : word));
    const refused = await agiraph(words, { folder: at.home, env: at.env });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot lead") });
  });

  test("hears what is said to it while it works", async () => {
    await using at = await leads(hiresCounter, { worker: "Paul" });
    await at.configure("touch at-work; until grep -q 'Count lines' _inbox.md; do sleep 0.05; done; wc -l _task.md");
    const running = new CliProcess(at.words, { folder: at.home, env: at.env });
    const agent = await vi.waitFor(
      async () => {
        const [name = ""] = await readdir(join(at.home, "agents"));
        await access(join(at.home, "agents", name, "runs/run-1/nodes/node-1/scratch/at-work"));
        return name;
      },
      { timeout: 60_000 },
    );
    const said = await agiraph(["send", agent, "Count lines", "--to", "Paul", "--home", at.home], {
      folder: at.home,
      env: at.env,
    });
    expect(said.code).toBe(0);
    expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("It is counted.") });
    expect(await at.published()).toMatch(/^\d+ _task\.md\n$/);
  });
});
