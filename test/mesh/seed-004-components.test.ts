import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isEndOf } from "../../src/mesh/testing/scripted-project.ts";
import { PATIENT, project } from "./seed-004.ts";

describe("Core Components", () => {
  test("two meshes are isolated: agents, messages, queues, facts and states of one are none of the other's", async () => {
    await using scene = await project({
      configs: ["left", "right"].map((mesh) => ({ mesh, type: "persistent" as const, agents: ["x/worker"] })),
      agents: { "right/worker": () => {} },
    });
    // A name of one is a name of the other too.
    for (const mesh of ["left", "right"]) scene.send(mesh, "t.md", `# For ${mesh}\n`);
    await scene.until(isEndOf("left"));
    await scene.until((fact) => fact.type === "mesh.told" && fact.data.mesh === "right");
    expect([scene.queues("left"), scene.queues("right")]).toEqual([{ complete: ["t.md"] }, { active: ["t.md"] }]);
    expect(scene.queues("right", "worker")).toEqual({ active: ["t.0.md"] });
    const read = (mesh: string) => {
      const { status, tasks_completed } = JSON.parse(readFileSync(scene.layout.state(mesh), "utf8"));
      return [status, tasks_completed];
    };
    await expect
      .poll(() => ["left", "right"].map(read), PATIENT)
      .toEqual([
        ["complete", 1],
        ["processing", 0],
      ]);
    expect(scene.facts.filter(isEndOf("right"))).toEqual([]);
  });
});
