import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MeshHouse } from "./house.ts";
import { withTmux } from "./terminals.ts";

/** The agents of the guide are run as they stand there: first the one for a terminal, then the one without. */
const GUIDE = readFileSync(join(import.meta.dirname, "../../docs/meshes.md"), "utf8");
const SCRIPTS = [...GUIDE.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = ""]) => script);

async function wordsOf(script: string, runs: "tmux" | "headless"): Promise<unknown> {
  await using house = new MeshHouse({
    meshes: [{ mesh: "solo", type: "persistent", agents: ["x/one"] }],
    agents: { one: { options: { program: "mine", runs } } },
    config: { programs: { mine: { kind: "autonomous", command: ["sh", "-c", script] } } },
  });
  await (await house.open()).start();
  await house.send("solo", { text: "# Count these five words\n" });
  const { data } = await house.completed("solo");
  return "gist" in data ? data.gist : data;
}

test("the guide has two agents, of at most ten lines each", () => {
  expect(SCRIPTS.map((script) => script.trimEnd().split("\n").length <= 10)).toEqual([true, true]);
});

withTmux("the guide's agent for a terminal does its task", { timeout: 120_000 }, async () => {
  expect(await wordsOf(SCRIPTS[0] ?? "", "tmux")).toBe("It has 5 words.");
});

test("the guide's agent without a terminal does its task", { timeout: 120_000 }, async () => {
  expect(await wordsOf(SCRIPTS[1] ?? "", "headless")).toBe("It has 5 words.");
});
