import { appendFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readDeclared } from "../../src/mesh/declaration/declared-mesh.ts";
import { isEndOf } from "../../src/mesh/testing/scripted-project.ts";
import type { MeshConfig } from "../../src/protocol/index.ts";
import { declared, PATIENT, Patient, project } from "./seed-004.ts";

const one: MeshConfig = { mesh: "test", type: "persistent", agents: ["x/worker"] };
const here = { mesh: "test", agent: null };
const task = (title: string) => `---\nfrom: human\nto: test\ntype: task\n---\n\n# ${title}\n`;

/** The seed's example, with its key that is there twice: the last one counts, and says how the work goes. */
const EXAMPLE = `{
  "mesh": "mesh-name",
  "type": "persistent",
  "description": "Purpose description",
  "agents": ["category/agent1", "category/agent2"],
  "workflow": ["agent1", "agent2"],
  "topology": "sequential",
  "capabilities": ["cap1", "cap2"],
  "storage": {
    "shared": true,
    "concepts_path": "shared/concepts"
  },
  "validation_gates": ["gate1", "gate2"],
  "type": "sequential",
  "entry_point": "agent1",
  "completion_agent": "agent2"
}`;

describe("File Watcher Specification", () => {
  test("only message files in queues are taken: no other endings, no hidden ones, nothing beside them", async () => {
    await using scene = await project({ configs: [one] });
    const inbox = scene.layout.queue(here, "inbox");
    for (const name of ["a.txt", ".b.md", "c.md~", "d.md.swp"]) scene.put(here, "inbox", name, task("No"));
    scene.write(".ai/tx/mesh/test/msgs/e.md", task("No"));
    scene.put(here, "inbox", "f.md", task("Yes"));
    await scene.until(isEndOf("test", null, "f.md"));
    expect(readdirSync(inbox).toSorted()).toEqual([".b.md", "a.txt", "c.md~", "d.md.swp"]);
    expect(scene.told).toEqual(["worker: task f.0.md"]);
  });
});

describe("Watcher Class (`lib/watcher.js`)", () => {
  test("what lies there at the start is taken; stopped, nothing moves; started again, it goes on", async () => {
    await using scene = declared(JSON.stringify({ ...one, agents: ["worker"] }));
    scene.write(".ai/tx/mesh/test/msgs/inbox/before.md", task("Before"));
    await scene.meshes.open();
    await scene.until(isEndOf("test", null, "before.md"));
    await scene.meshes.close();
    scene.put(here, "inbox", "between.md", task("Between"));
    expect(readdirSync(scene.layout.queue(here, "inbox"))).toEqual(["between.md"]);
    await scene.reopen();
    await scene.until(isEndOf("test", null, "between.md"));
  });

  test("one that is written in place is told once, and whole; a deleted folder is made again", async () => {
    await using scene = await project({ configs: [one] });
    const path = join(scene.layout.queue(here, "inbox"), "slow.md");
    for (const part of task("Written in parts").match(/.{1,9}/gs) ?? []) appendFileSync(path, part);
    await scene.until(isEndOf("test", null, "slow.md"));
    expect(scene.heard.map(({ message }) => message.body.trim())).toEqual(["# Written in parts"]);
    rmSync(scene.layout.queue(here, "inbox"), { recursive: true });
    await expect.poll(() => existsSync(scene.layout.queue(here, "inbox")), PATIENT).toBe(true);
    scene.put(here, "inbox", "after.md", task("After"));
    await scene.until(isEndOf("test", null, "after.md"));
  });

  test("the path says whose it is: .ai/tx/mesh/test/msgs/inbox/file.md is the mesh test's own", async () => {
    await using scene = await project({ configs: [one] });
    scene.write(".ai/tx/mesh/test/msgs/inbox/file.md", task("Whose"));
    const fact = await scene.until(({ type }) => type === "mesh.received");
    expect(fact.data).toMatchObject({ mesh: "test", agent: null, name: "file.md" });
  });
});

describe("Mesh Configuration", () => {
  test("a mesh that is declared while the others work is at work at once", async () => {
    await using scene = await project({ configs: [one] });
    scene.declare({ mesh: "later", type: "persistent", agents: ["x/other"] });
    await scene.until(({ type, data }) => type === "mesh.opened" && data.mesh === "later");
    scene.send("later", "t.md", "# Work\n");
    await scene.until(isEndOf("later"));
  });
});

describe("Mesh Config Schema (`meshes/mesh-configs/{mesh}.json`)", () => {
  test("the example of the seed runs as it stands: workflow, gates in their order, folders, lifetime", async () => {
    const passed: string[] = [];
    const gate = (name: string) => async () => {
      passed.push(name);
      return null;
    };
    await using scene = declared(EXAMPLE, { gates: { gate1: gate("gate1"), gate2: gate("gate2") } });
    await scene.meshes.open();
    expect([...scene.meshes.problems]).toEqual([]);
    scene.send("mesh-name", "t.md", "# Work\n");
    await scene.until(isEndOf("mesh-name"));
    expect(scene.told).toEqual(["agent1: task t.0.md", "agent2: task t.1.md"]);
    expect(passed).toEqual(["gate1", "gate2"]);
    expect(existsSync(join(scene.layout.shared("mesh-name"), "concepts"))).toBe(true);
    expect(scene.meshes.meshes.get("mesh-name")?.declared).toMatchObject({
      lifetime: "persistent",
      topology: "sequential",
      entry: "agent1",
    });
  });

  test.each(["mesh", "type", "agents"])(
    "%s is required, and what is missing is said with file and field",
    async (field) => {
      await using scene = declared(EXAMPLE);
      const { [field]: _, ...rest } = JSON.parse(EXAMPLE) as Record<string, unknown>;
      scene.write("meshes/mesh-configs/mesh-name.json", JSON.stringify(rest));
      const { problems } = await readDeclared(scene.layout);
      expect(problems.map(({ message }) => message)).toEqual([
        expect.stringMatching(new RegExp(`^meshes/mesh-configs/mesh-name\\.json: .*"${field}"`)),
      ]);
    },
  );
});

describe("Mesh Types", () => {
  test("persistent goes on after a restart; task lets its people go; ephemeral is put away and begins anew", async () => {
    const types = ["persistent", "task", "ephemeral"] as const;
    await using scene = await project({
      configs: types.map((type) => ({ mesh: type, type, agents: ["x/worker"] })),
    });
    for (const type of types) scene.send(type, "t.md", "# Work\n");
    for (const type of types) await scene.until(isEndOf(type));
    for (const type of ["task", "ephemeral"])
      await scene.until((fact) => fact.type === "mesh.closed" && fact.data.mesh === type);
    expect(scene.closed.toSorted()).toEqual(["ephemeral/worker", "task/worker"]);
    expect([scene.queues("persistent").complete, scene.queues("task").complete]).toEqual([["t.md"], ["t.md"]]);
    expect(existsSync(scene.layout.mesh("ephemeral"))).toBe(false);
    expect(readdirSync(scene.layout.archive)).toEqual([expect.stringMatching(/^\d{10}-0001-ephemeral$/)]);
    await scene.reopen();
    scene.send("persistent", "again.md", "# Work\n");
    await scene.until(isEndOf("persistent", null, "again.md"));
    expect(scene.queues("persistent").complete).toEqual(["again.md", "t.md"]);
  });
});

describe("Agent Configuration", () => {
  test("an agent by its category, or by its name alone where only one category has it", async () => {
    await using scene = declared(
      JSON.stringify({ ...one, agents: ["core/first", "second"], workflow: ["second", "first"] }),
    );
    await scene.meshes.open();
    scene.send("test", "t.md", "# Work\n");
    await scene.until(isEndOf("test"));
    expect(scene.told).toEqual(["second: task t.0.md", "first: task t.1.md"]);
  });
});

describe("Agent Config Schema (`meshes/agents/{category}/{agent}/config.json`)", () => {
  const config = (model: string, output: string) =>
    JSON.stringify({
      name: "agent-name",
      description: "Agent purpose",
      capabilities: ["cap1", "cap2"],
      options: { model, output },
    });

  test("every model and output of the seed is taken; what is none is said with file and field", async () => {
    await using scene = declared(JSON.stringify({ ...one, agents: ["category/agent-name"] }));
    const file = "meshes/agents/category/agent-name/config.json";
    for (const model of "claude-opus|claude-sonnet|claude-haiku".split("|")) {
      for (const output of "clean|verbose".split("|")) {
        scene.write(file, config(model, output));
        const { meshes } = await readDeclared(scene.layout);
        expect(meshes.get("test")?.agents.get("agent-name")?.config).toEqual(JSON.parse(config(model, output)));
      }
    }
    scene.write(file, config("claude-opus", "loud"));
    const { problems } = await readDeclared(scene.layout);
    expect(problems.map(({ message }) => message)).toEqual([expect.stringMatching(/agent-name.*"options\.output"/s)]);
  });
});

describe("Agent Directory Structure", () => {
  test("an agent at work has the folders of the seed, and its active task lies where they say", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [one], agents: { worker: worker.script } });
    const dir = join(scene.dir, ".ai/tx/mesh/test/agents/worker");
    expect(readdirSync(dir).toSorted()).toEqual(["msgs", "prompts", "workspace"]);
    // Departure: quarantine and archive are beside the seed's five.
    expect(readdirSync(join(dir, "msgs")).toSorted()).toEqual(
      ["inbox", "next", "active", "complete", "outbox", "quarantine", "archive"].toSorted(),
    );
    scene.send("test", "t.md", "# Work\n");
    await expect.poll(() => readdirSync(join(dir, "msgs/active")), PATIENT).toEqual(["t.0.md"]);
  });
});

describe("Directory Structure", () => {
  test("everything lies where the seed lays it out, and nothing is in the project beside it", async () => {
    await using scene = await project({ configs: [one] });
    scene.send("test", "t.md", "# Work\n");
    await scene.until(isEndOf("test"));
    await expect.poll(() => existsSync(scene.layout.state("test")), PATIENT).toBe(true);
    expect(readdirSync(scene.dir).toSorted()).toEqual([".ai", "meshes"]);
    const mesh = join(scene.dir, ".ai/tx/mesh/test");
    expect(readdirSync(mesh).toSorted()).toEqual(["agents", "msgs", "shared", "state.json"]);
    expect(readdirSync(join(mesh, "shared")).toSorted()).toEqual(["concepts", "output"]);
    for (const queue of ["inbox", "next", "active", "complete"])
      expect(existsSync(join(mesh, "msgs", queue))).toBe(true);
    expect(readdirSync(join(scene.dir, "meshes")).toSorted()).toEqual(["agents", "mesh-configs"]);
  });
});
