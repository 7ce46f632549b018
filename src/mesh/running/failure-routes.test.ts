import { afterEach, expect, test } from "vitest";
import type { MeshConfig } from "../../protocol/index.ts";
import { isEndOf, type Script, ScriptedProject } from "../testing/scripted-project.ts";

/** TOPOLOGY-4: what does not succeed goes back to an agent, a few times. */
const opened: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
});

const REVIEW: MeshConfig = {
  mesh: "review",
  type: "persistent",
  agents: ["x/reader", "x/fixer", "x/verifier"],
  workflow: ["reader", "fixer", "verifier"],
  on_failure: { verifier: { to: "fixer", rounds: 2 } },
};

/** A verifier that refuses so often. */
async function review(refusals: number, config: MeshConfig = REVIEW): Promise<ScriptedProject> {
  let left = refusals;
  const verifier: Script = ({ header }, say) => {
    if (header.type !== "task") return;
    if (left-- > 0) say("mesh", "error", `Still broken (${left} left).\n`);
    else say("mesh", "task-complete", "It holds.\n");
  };
  const project = new ScriptedProject({ configs: [config], agents: { verifier } });
  opened.push(project);
  await project.meshes.open();
  return project;
}

const steps = (project: ScriptedProject) => project.heard.map(({ agent, message }) => `${agent} ${message.name}`);

test("what fails goes back to the agent that is named, with why, and on from there", async () => {
  const project = await review(1);
  project.send("review", "bug.md", "# Fix it\n");
  expect((await project.until(isEndOf("review"))).type).toBe("mesh.completed");
  expect(steps(project)).toEqual([
    "reader bug.0.md",
    "fixer bug.1.md",
    "verifier bug.2.md",
    "fixer bug.1-r2.md",
    "verifier bug.2-r2.md",
  ]);
  expect(project.heard[3]?.message.body).toContain(
    "# Handoff from verifier to fixer\n\n## Previous Work\n\nverifier did not accept the work, or could not do its own step. The files are still there to be corrected. It did not succeed:\n\nStill broken (0 left).\n",
  );
});

test("after so many rounds the task fails, with the last words; a restart in between changes nothing", async () => {
  const project = await review(9);
  project.send("review", "bug.md", "# Fix it\n");
  await project.until(({ type, data }) => type === "mesh.failed" && "name" in data && data.name === "bug.2-r2.md");
  await project.reopen();
  expect(await project.until(isEndOf("review"))).toMatchObject({
    type: "mesh.failed",
    data: { why: "verifier: Still broken (6 left)." },
  });
  expect(new Set(steps(project)).size).toBe(7);
  expect(project.queues("review")).toEqual({ complete: ["bug.md"] });
});

test("a route that leads nowhere, forward, or from inside a parallel step is refused with its field", async () => {
  const problems = async (config: Partial<MeshConfig>) => {
    const project = await review(0, { ...REVIEW, ...config });
    return [...project.meshes.problems.values()].map((problem) => problem.split(": ").slice(1, 2)[0]);
  };
  expect([
    await problems({ on_failure: { verifier: { to: "nobody" } } }),
    await problems({ on_failure: { reader: { to: "fixer" } } }),
    await problems({ workflow: ["reader", { parallel: ["fixer", "verifier"] }] }),
    await problems({ on_failure: { verifier: { to: "fixer", round: 2 } as never } }),
  ]).toEqual([
    ['"on_failure.verifier.to"'],
    ['"on_failure.reader.to"'],
    ['"on_failure.verifier"'],
    [expect.stringContaining("on_failure.verifier")],
  ]);
});
