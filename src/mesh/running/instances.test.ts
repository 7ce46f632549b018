import { existsSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { readMesh } from "../declaration/declared-mesh.ts";
import { isEndOf, type Script, ScriptedProject } from "../testing/scripted-project.ts";

const opened: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
});

test("instances of one mesh work at the same time, each in its own queues, from the same files", async () => {
  const both = Promise.withResolvers<void>();
  const begun: string[] = [];
  // Nobody ends before both have begun.
  const worker: Script = async ({ header, body }, say) => {
    begun.push(`${header.to}: ${body.trim()}`);
    if (begun.length === 2) both.resolve();
    await both.promise;
    say("mesh", "task-complete", `Done by ${header.to}.\n`);
  };
  const trusted: string[] = [];
  const project = new ScriptedProject({
    configs: [{ mesh: "review", type: "persistent", agents: ["x/worker"], instances: 2 }],
    agents: { worker },
    isTrusted: ({ declaredAs }) => {
      trusted.push(declaredAs);
      return true;
    },
  });
  opened.push(project);
  await project.meshes.open();
  project.send("review", "a.md", "# A\n");
  project.send("review-2", "b.md", "# B\n");
  const ends = await Promise.all([project.until(isEndOf("review")), project.until(isEndOf("review-2"))]);
  expect(ends.map(({ data }) => data)).toEqual([
    { mesh: "review", agent: null, name: "a.md", gist: "Done by review/worker." },
    { mesh: "review-2", agent: null, name: "b.md", gist: "Done by review-2/worker." },
  ]);
  expect(begun.toSorted()).toEqual(["review-2/worker: # B", "review/worker: # A"]);
  expect([...project.meshes.declared().keys()]).toEqual(["review", "review-2"]);
  // One consent is for all of them.
  expect(new Set(trusted)).toEqual(new Set(["review"]));
  const hashes = ["review", "review-2"].map((mesh) => readMesh(project.layout, mesh).hash);
  expect(hashes[0]).toBe(hashes[1]);
  expect(() => readMesh(project.layout, "review-3")).toThrow('"instances": there is no review-3: the mesh has only 2');
});

test("fewer instances close the others, whose files stay; a mesh of that name of its own counts before an instance", async () => {
  const project = new ScriptedProject({
    configs: [{ mesh: "review", type: "persistent", agents: ["x/worker"], instances: 3 }],
  });
  opened.push(project);
  await project.meshes.open();
  project.declare({ mesh: "review-2", type: "task", agents: ["x/worker"] });
  project.declare({ mesh: "review", type: "persistent", agents: ["x/worker"] });
  await project.meshes.reloadSoon();
  expect([...project.meshes.declared().values()].map(({ config, lifetime }) => [config.mesh, lifetime])).toEqual([
    ["review", "persistent"],
    ["review-2", "task"],
  ]);
  expect(existsSync(project.layout.mesh("review-3"))).toBe(true);
});
