import { expect, test } from "vitest";
import type { MeshConfig } from "../../src/protocol/index.ts";
import { type ProviderRequest, type ProviderTurn, startProviderServer } from "../../src/testing/index.ts";
import { installed, whenInstalled } from "../outside/installed.ts";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

/**
 * The topologies with real Claude Codes in real terminals and a scripted model behind them; the sequence of two is in
 * claude.test.ts. Two sessions each, since one weighs 200 MB: whoever maps also reduces, in the session it has.
 *
 * In CI the hierarchical one, in which most is said; all of them in `npm run soak`. With scripted agents every topology is
 * in CI (seed-004-topologies.test.ts).
 */
const CLAUDE = installed("claude", ".bin/claude");
const withClaude = withTmux === test ? whenInstalled("claude", ".bin/claude") : test.skip;
const LONG = { timeout: 180_000 };
type Declare = (name: string, options: typeof LONG, run: () => Promise<void>) => void;
const inSoak: Declare = process.env.AGIRAPH_SOAK === undefined ? () => {} : withClaude;

/**
 * What somebody runs once they have heard these words, in this order; all else they hear gets a word. What comes while
 * somebody works is heard at once or in a turn of its own, so turns are not counted.
 */
type Mind = readonly (readonly [heard: string, command: string])[];

function respondAs(minds: Readonly<Record<string, Mind>>): (request: ProviderRequest) => ProviderTurn {
  const played = new Map<string, number>();
  return ({ system, body, messages }) => {
    const [, agent = ""] = /\*\*Agent\*\*: ([\w-]+)/.exec(system) ?? [];
    const isWork = Array.isArray(body.tools) && body.tools.length > 0;
    const [heard, command] = minds[agent]?.[played.get(agent) ?? 0] ?? [];
    if (!isWork || heard === undefined || !messages.some(({ text }) => text.includes(heard))) return { text: "Well." };
    played.set(agent, (played.get(agent) ?? 0) + 1);
    return { calls: [{ name: "Bash", args: { command, description: "Run it" } }] };
  };
}

/** Runs one task through a mesh of Claude Codes with these minds, and lets the test look at what it has left. */
async function run(
  config: MeshConfig,
  minds: Readonly<Record<string, Mind>>,
  look: (house: MeshHouse, stem: string) => void | Promise<void>,
): Promise<void> {
  await using provider = await startProviderServer({ respond: respondAs(minds) });
  const set = { ANTHROPIC_BASE_URL: provider.url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" };
  const claude = { kind: "claude_code" as const, command: [CLAUDE], set, quirks: "claude" as const };
  const plan = { meshes: [config], config: { programs: { "claude-code": claude } } };
  await using house = await (await new MeshHouse(plan).open()).start();
  const { name } = await house.send(config.mesh, { text: "# Write an essay\n" });
  await house.completed(config.mesh);
  expect(house.queues(config.mesh)).toEqual({ complete: [name] });
  await look(house, name.replace(".md", ""));
  const told = (await house.facts("mesh.told")).map((fact) => `${fact.agent} ${fact.name}`);
  expect(told.toSorted()).toEqual([...new Set(told)].toSorted());
}

/** What an agent has behind it: each task with its end. */
function complete(house: MeshHouse, mesh: string, agent: string, stem: string): string[] | undefined {
  return house.queues(mesh, agent).complete?.map((name) => name.replace(`${stem}.`, ""));
}

const agents = ["x/ann", "x/ben"];

inSoak("parallel: two Claude Codes get the same task at once, and all must be done", LONG, () =>
  run(
    { mesh: "both", type: "persistent", agents, topology: "parallel" },
    {
      ann: [["for both/ann from both", 'tx done "By Ann."']],
      ben: [["for both/ben from both", 'tx done "By Ben."']],
    },
    (house, stem) => {
      expect(complete(house, "both", "ann", stem)).toEqual(["0.md", "0.result.md"]);
      expect(complete(house, "both", "ben", stem)).toEqual(["1.md", "1.result.md"]);
      expect(house.read("both", "ann", "complete", `${stem}.0.md`)).toContain("# Write an essay");
      expect(house.read("both", "ben", "complete", `${stem}.1.md`)).toContain("# Write an essay");
    },
  ),
);

inSoak("map-reduce: what two have mapped comes to the one who reduces", LONG, () =>
  run(
    { mesh: "sum", type: "persistent", agents, workflow: { map: ["ann", "ben"], reduce: ["ann"] } },
    {
      ann: [
        [".map.0.md for sum/ann", 'tx done "One half."'],
        [".reduce.0.md for sum/ann", 'tx done "The whole."'],
      ],
      ben: [[".map.1.md for sum/ben", 'tx done "The other half."']],
    },
    (house, stem) => {
      expect(complete(house, "sum", "ann", stem)).toEqual([
        "map.0.md",
        "map.0.result.md",
        "reduce.0.md",
        "reduce.0.result.md",
      ]);
      const handoff = house.read("sum", "ann", "complete", `${stem}.reduce.0.md`);
      expect(handoff).toContain("### ann\n\nOne half.\n\n### ben\n\nThe other half.");
      expect(house.read("sum", "ann", "complete", `${stem}.reduce.0.result.md`)).toContain("The whole.");
    },
  ),
);

withClaude("hierarchical: one hands a part on, is asked and answers, hears of its end, and ends the whole", LONG, () =>
  run(
    { mesh: "build", type: "persistent", agents },
    {
      ann: [
        ["# Write an essay", 'tx send ben "Code it"'],
        ["In which language?", 'tx send ben --type ask-response "In Rust."'],
        ["Coded in Rust.", 'tx done "All done."'],
      ],
      ben: [
        ["Code it", 'tx ask ann "In which language?"'],
        ["In Rust.", 'tx done "Coded in Rust."'],
      ],
    },
    async (house) => {
      const received = await house.facts("mesh.received");
      expect(received.map(({ agent, type, from, title }) => [agent, type, from, title])).toEqual([
        [null, "task", "human", "Write an essay"],
        ["ann", "task", "build", "Write an essay"],
        ["ben", "task", "build/ann", "Code it"],
        ["ann", "ask", "build/ben", "In which language?"],
        ["ben", "ask-response", "build/ann", "In Rust."],
        ["ann", "task-complete", "build/ben", "Done: Code it"],
      ]);
    },
  ),
);

inSoak("nested: a step of a sequence is parallel, and what follows it builds on both", LONG, () =>
  run(
    { mesh: "nest", type: "persistent", agents, workflow: [{ parallel: ["ann", "ben"] }, "ben"] },
    {
      ann: [[".0.0.md for nest/ann", 'tx done "A draft."']],
      ben: [
        [".0.1.md for nest/ben", 'tx done "A doubt."'],
        ["Handoff from ann, ben to ben", 'tx done "An essay."'],
      ],
    },
    (house, stem) => {
      expect(complete(house, "nest", "ben", stem)).toEqual(["0.1.md", "0.1.result.md", "1.md", "1.result.md"]);
      const handoff = house.read("nest", "ben", "complete", `${stem}.1.md`);
      expect(handoff).toContain("### ann\n\nA draft.\n\n### ben\n\nA doubt.");
    },
  ),
);
