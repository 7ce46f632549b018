import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withTmux } from "./terminals.ts";
import { TxProject } from "./tx-project.ts";

const PROMPT =
  "Read `{{output}}/a.md`. Ask early ({{ask}}). Hand on ({{send}}), end ({{done}}), or say why not ({{fail}}).\n";

/** An agent of each way to run, in one mesh. */
function projectOfAll(): TxProject {
  const project = new TxProject();
  const agents = {
    typed: { program: "obedient", runs: "tmux" },
    own: { program: "obedient", runs: "headless" },
    claude: { program: "claude-code", runs: "headless" },
    mind: { model: "anthropic/claude-opus-4-5" },
  };
  const config = { mesh: "all", type: "persistent", agents: Object.keys(agents).map((name) => `y/${name}`) };
  writeFileSync(join(project.project, "meshes/mesh-configs/all.json"), JSON.stringify(config));
  for (const [name, options] of Object.entries(agents)) {
    const dir = join(project.project, "meshes/agents/y", name);
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "config.json"), JSON.stringify({ name, options }));
    writeFileSync(join(dir, "prompt.md"), PROMPT);
  }
  writeFileSync(join(project.project, "AGENTS.md"), "Be kind.\n");
  return project;
}

interface Shown {
  runs: string;
  speaks_by: string;
  sections: { title: string; text: string }[];
  prompt: string;
}

const own = ({ sections }: Shown) => sections.find(({ title }) => title === "Agent Prompt")?.text;
const rules = ({ sections }: Shown) => sections.find(({ title }) => title === "Project")?.text;

test("tx prompt shows what an agent is told by the way it runs", async () => {
  await using project = projectOfAll();
  const shown = async (agent: string) => (await project.json("prompt", "all", agent)) as Shown;
  const [mind, claude, command] = [await shown("mind"), await shown("claude"), await shown("own")];
  expect([mind, claude, command].map(({ runs, speaks_by }) => [runs, speaks_by])).toEqual([
    ["harnessed", "model"],
    ["headless", "tools"],
    ["headless", "files"],
  ]);
  const byTools =
    "Ask early (`tx_ask`). Hand on (`tx_send`), end (`tx_done`), or say why not (`tx_done` with `failed`).";
  expect(own(mind)).toBe(`Read \`shared/output/a.md\`. ${byTools}`);
  expect(own(claude)).toBe(`Read \`.ai/tx/mesh/all/shared/output/a.md\`. ${byTools}`);
  expect(own(command)).toBe(
    "Read `$TX_OUTPUT/a.md`. Ask early (`_outbox.md`). Hand on (`_outbox.md`), end (`_result.md`), or say why not (to standard error, with an exit code other than 0).",
  );
  expect(command.sections[0]).toMatchObject({ title: "How to Speak", text: expect.stringContaining("_inbox.md") });
  expect([mind, claude, command].map(rules)).toEqual(
    ["project/AGENTS.md", "AGENTS.md", "$TX_PROJECT/AGENTS.md"].map(
      (file) => `The project has instructions for agents: ${file}. Read them before you begin.`,
    ),
  );
  const { stderr } = await project.tx(["prompt", "all", "own"]);
  expect(stderr).toContain("all/own (obedient/default): a command without a terminal, which speaks by files.");
});

withTmux(
  "tx prompt shows an agent that is declared for a terminal as it runs before and after the consent",
  async () => {
    await using project = projectOfAll();
    const before = (await project.json("prompt", "all", "typed")) as Shown;
    expect([before.runs, before.speaks_by]).toEqual(["headless", "files"]);
    expect((await project.tx(["prompt", "all", "typed"])).stderr).toContain(
      "It is declared for a terminal; to allow that: tx trust all --terminals",
    );
    await project.tx(["trust", "all", "--terminals", "--yes"]);
    const after = (await project.json("prompt", "all", "typed")) as Shown;
    expect([after.runs, after.speaks_by]).toEqual(["tmux", "terminal"]);
    expect(own(after)).toBe(
      'Read `.ai/tx/mesh/all/shared/output/a.md`. Ask early (`tx ask AGENT "question"`). Hand on (`tx send AGENT "task"`), end (`tx done "what you did"`), or say why not (`tx done --failed "why"`).',
    );
  },
);
