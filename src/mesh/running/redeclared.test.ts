import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { MeshConfig } from "../../protocol/index.ts";
import { isEndOf, ScriptedProject } from "../testing/scripted-project.ts";

const opened: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
});

const ONE: MeshConfig = { mesh: "m", type: "persistent", agents: ["x/a"], workflow: ["a"] };
const TWO: MeshConfig = { mesh: "m", type: "persistent", agents: ["x/a", "x/b"], workflow: ["a", "b"] };

async function openOne(): Promise<ScriptedProject> {
  const project = await ScriptedProject.open({ configs: [ONE] });
  opened.push(project);
  return project;
}

test("an agent that is added while the mesh works, with folders that lead elsewhere, is refused; the mesh goes on as it was", async () => {
  const project = await openOne();
  mkdirSync(join(project.dir, "elsewhere"));
  symlinkSync(join(project.dir, "elsewhere"), project.layout.agent("m", "b"));
  project.declare(TWO);
  await project.meshes.reloadSoon();
  expect(readdirSync(join(project.dir, "elsewhere"))).toEqual([]);
  expect([...project.meshes.problems.keys()]).toEqual([".ai/tx/mesh/m/agents/b"]);
  project.send("m", "it.md", "# It\n");
  await project.until(isEndOf("m"));
  expect(project.told).toEqual(["a: task it.0.md"]);
});

test("MESH-5: the queues of an added agent that cannot be made now are made when they can", async () => {
  const project = await openOne();
  const b = { mesh: "m", agent: "b" };
  const inTheWay = project.layout.queue(b, "next");
  mkdirSync(project.layout.messages(b), { recursive: true });
  writeFileSync(inTheWay, "");
  project.declare(TWO);
  await project.meshes.reloadSoon();
  project.send("m", "it.md", "# It\n");
  await project.until(({ type }) => type === "mesh.stalled");
  rmSync(inTheWay);
  await project.until(isEndOf("m"));
  expect(project.told).toEqual(["a: task it.0.md", "b: task it.1.md"]);
});

test("MESHES-2, MESH-5: an ephemeral mesh whose folder cannot be put away still hears what comes next", async () => {
  const project = await ScriptedProject.open({ configs: [{ mesh: "m", type: "ephemeral", agents: ["x/a"] }] });
  opened.push(project);
  writeFileSync(project.layout.archive, "in the way");
  project.send("m", "first.md", "# First\n");
  await project.until(isEndOf("m"));
  // Its member is dismissed right before its folder would be put away.
  while (project.closed.length === 0) await new Promise(setImmediate);
  await new Promise(setImmediate);
  project.send("m", "second.md", "# Second\n");
  await project.until(isEndOf("m", null, "second.md"));
  expect(project.told).toEqual(["a: task first.0.md", "a: task second.0.md"]);
});

test("AGENT-QUEUE-3: an end that names a path is put aside, and the file that it leads to stays where it is", async () => {
  const project = await ScriptedProject.open({
    configs: [ONE],
    agents: {
      a: (_, say) => {
        say("mesh", "task-complete", "Done.\n", { "in-reply-to": "../../../../../../../README" });
        say("mesh", "task-complete", "Done.\n");
      },
    },
  });
  opened.push(project);
  project.write("README.md", "# Mine\n");
  project.send("m", "it.md", "# It\n");
  const [aside] = await Promise.all([
    project.until(({ type }) => type === "mesh.quarantined"),
    project.until(isEndOf("m")),
  ]);
  expect(aside.data).toMatchObject({ why: expect.stringContaining('"in-reply-to": expected the name of a message') });
  expect(readdirSync(project.dir).filter((name) => name.startsWith("README"))).toEqual(["README.md"]);
});
