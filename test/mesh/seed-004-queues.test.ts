import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "../../src/mesh/files/message-file.ts";
import { readState } from "../../src/mesh/running/state-file.ts";
import { isEndOf, type ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";
import type { MeshConfig } from "../../src/protocol/index.ts";
import { PATIENT, Patient, project } from "./seed-004.ts";

const one: MeshConfig = { mesh: "test", type: "persistent", agents: ["x/worker"] };
const three: MeshConfig = {
  mesh: "mesh",
  type: "persistent",
  agents: ["x/agent1", "x/agent2", "x/agent3"],
  workflow: ["agent1", "agent2", "agent3"],
};
const here = { mesh: "test", agent: null };
const agent = { mesh: "test", agent: "worker" };

/** Three for the mesh, of which the first is given. */
async function threeSent(scene: ScriptedProject, worker: Patient): Promise<void> {
  for (const name of ["c.md", "a.md", "b.md"]) scene.send("test", name, `# ${name}\n`);
  await expect.poll(() => worker.given, PATIENT).toEqual(["c.0.md"]);
  await expect.poll(() => scene.queues("test"), PATIENT).toEqual({ active: ["c.md"], next: ["a.md"], inbox: ["b.md"] });
}

const activated =
  (name: string, who: string | null = null) =>
  (fact: { type: string; data: object }) =>
    fact.type === "mesh.activated" && "name" in fact.data && fact.data.name === name && agentOf(fact.data) === who;

function agentOf(data: object): unknown {
  return "agent" in data ? data.agent : undefined;
}

describe("Queue System Specification", () => {
  test("each message is in exactly one queue at any instant, and comes to its end", async () => {
    await using scene = await project({ configs: [three] });
    const names = Array.from({ length: 12 }, (_, at) => `m${String(11 - at).padStart(2, "0")}.md`);
    for (const name of names) scene.send("mesh", name, "# Work\n");
    let looks = 0;
    // We are in one process with the mesh, so nothing moves while we look.
    for (; !scene.facts.some(isEndOf("mesh", null, names.at(-1))); looks++) {
      const all = readdirSync(scene.layout.messages({ mesh: "mesh", agent: null })).flatMap((queue) =>
        readdirSync(join(scene.layout.messages({ mesh: "mesh", agent: null }), queue)),
      );
      expect(all.toSorted()).toEqual(names.toSorted());
      await new Promise(setImmediate);
    }
    expect(looks).toBeGreaterThan(1);
  });
});

describe("Queue Flow", () => {
  test("inbox → next → active → complete → archive, first in, first out, whatever the names", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [one], agents: { worker: worker.script } });
    await threeSent(scene, worker);
    for (const [name, then] of [
      ["c", "a"],
      ["a", "b"],
    ]) {
      worker.end(`${name}.0.md`);
      await expect.poll(() => worker.given, PATIENT).toEqual([`${then}.0.md`]);
    }
    worker.end("b.0.md");
    await scene.until(isEndOf("test", null, "b.md"));
    expect(scene.queues("test")).toEqual({ complete: ["a.md", "b.md", "c.md"] });
    expect(scene.meshes.archive("test", 7)).toBe(0);
    await expect
      .poll(() => {
        scene.meshes.archive("test", 0);
        return scene.queues("test");
      }, PATIENT)
      .toEqual({ archive: ["a.md", "b.md", "c.md"] });
  });
});

describe("Queue Class (`lib/queue.js`)", () => {
  test("a file in the inbox, in complete, and one gone from active: each has what is next moved", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [one], agents: { worker: worker.script } });
    for (const name of ["1.md", "2.md", "3.md"]) {
      const text = `---\nfrom: human\nto: test/worker\ntype: task\n---\n# ${name}\n`;
      scene.put(agent, "inbox", name, text);
    }
    await scene.until(activated("1.md", "worker"));
    await expect
      .poll(() => scene.queues("test", "worker"), PATIENT)
      .toEqual({ active: ["1.md"], next: ["2.md"], inbox: ["3.md"] });
    scene.move(agent, "1.md", "active", "complete");
    await scene.until(activated("2.md", "worker"));
    rmSync(join(scene.layout.queue(agent, "active"), "2.md"));
    await scene.until(activated("3.md", "worker"));
    expect(scene.queues("test", "worker")).toEqual({ active: ["3.md"], complete: ["1.md"] });
  });
});

describe("Mesh-Level Queues", () => {
  test("processInbox, processNext, complete and getQueueStatus: one in next, one in active, counted", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [one], agents: { worker: worker.script } });
    await threeSent(scene, worker);
    const none = { complete: 0, outbox: 0, quarantine: 0, archive: 0 };
    expect(scene.meshes.getQueueStatus("test")).toEqual({ inbox: 1, next: 1, active: 1, ...none });
    worker.end("c.0.md");
    await scene.until(isEndOf("test", null, "c.md"));
    await scene.until(activated("a.md"));
    await expect
      .poll(() => scene.meshes.getQueueStatus("test"), PATIENT)
      .toEqual({ ...none, inbox: 0, next: 1, active: 1, complete: 1 });
    expect(scene.meshes.getQueueStatus("nobody")).toBeUndefined();
  });

  test("complete, by hand: the mesh's own message moved from active to complete ends its task", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [one], agents: { worker: worker.script } });
    await threeSent(scene, worker);
    scene.move(here, "c.md", "active", "complete");
    await scene.until(isEndOf("test", null, "c.md"));
    await scene.until(activated("a.md"));
  });
});

describe("Agent-Level Queues", () => {
  test("completeAgentTask: the agent's own goes to complete, and the mesh's with it", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [one], agents: { worker: worker.script } });
    scene.send("test", "t.md", "# Work\n");
    await expect.poll(() => worker.given, PATIENT).toEqual(["t.0.md"]);
    expect([scene.queues("test"), scene.queues("test", "worker")]).toEqual([
      { active: ["t.md"] },
      { active: ["t.0.md"] },
    ]);
    worker.end("t.0.md");
    await scene.until(isEndOf("test"));
    expect([scene.queues("test"), scene.queues("test", "worker")]).toEqual([
      { complete: ["t.md"] },
      { complete: ["t.0.md", "t.0.result.md"] },
    ]);
  });
});

describe("Workflow Advancement", () => {
  test("each end makes the handoff of the seed for the next agent, and the state says how far it is", async () => {
    const people = { agent1: new Patient(), agent2: new Patient(), agent3: new Patient() };
    const agents = Object.fromEntries(Object.entries(people).map(([name, { script }]) => [name, script]));
    await using scene = await project({ configs: [three], agents });
    scene.send("mesh", "t.md", "# Work\n");
    const state = () => readState(scene.layout, "mesh");
    const workflow = { workflow: ["agent1", "agent2", "agent3"], workflow_complete: false };
    await expect.poll(() => people.agent1.given, PATIENT).toEqual(["t.0.md"]);
    await expect
      .poll(state, PATIENT)
      .toMatchObject({ ...workflow, workflow_position: 0, current_agent: "agent1", previous_agent: null });
    people.agent1.end("t.0.md");
    await expect.poll(() => people.agent2.given, PATIENT).toEqual(["t.1.md"]);
    await expect
      .poll(state, PATIENT)
      .toMatchObject({ ...workflow, workflow_position: 1, current_agent: "agent2", previous_agent: "agent1" });
    const handoff = parse(
      readFileSync(join(scene.layout.queue({ mesh: "mesh", agent: "agent2" }, "active"), "t.1.md"), "utf8"),
    );
    expect(handoff).toMatchObject({
      header: {
        from: "mesh/agent1",
        to: "mesh/agent2",
        type: "task",
        status: "handoff",
        timestamp: "2026-01-02T03:04:05.000Z",
      },
      body: expect.stringMatching(/^# Handoff from agent1 to agent2\n\n## Previous Work\n\nThe end of t\.0\.md\n/),
    });
    people.agent2.end("t.1.md");
    await expect.poll(() => people.agent3.given, PATIENT).toEqual(["t.2.md"]);
    people.agent3.end("t.2.md");
    await scene.until(isEndOf("mesh"));
    await expect
      .poll(state, PATIENT)
      .toMatchObject({ workflow_complete: true, current_agent: null, tasks_completed: 1, status: "complete" });
  });
});

describe("State Management", () => {
  test("the state has the fields of the seed and goes idle → processing → complete", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [one], agents: { worker: worker.script } });
    const state = () => readState(scene.layout, "test");
    await expect.poll(() => state()?.status, PATIENT).toBe("idle");
    expect(Object.keys(state() ?? {})).toEqual([
      ...["mesh", "status", "current_agent", "previous_agent", "workflow", "workflow_position"],
      ...["workflow_complete", "tasks_completed", "started_at", "updated_at"],
    ]);
    scene.send("test", "t.md", "# Work\n");
    await expect.poll(() => state()?.status, PATIENT).toBe("processing");
    await expect.poll(() => worker.given, PATIENT).toEqual(["t.0.md"]);
    worker.end("t.0.md");
    await expect.poll(() => state(), PATIENT).toMatchObject({ mesh: "test", status: "complete", tasks_completed: 1 });
  });
});

describe("Atomic State (`lib/atomic-state.js`)", () => {
  test("whoever reads it during work reads a whole one; deleted, it is made again", async () => {
    await using scene = await project({ configs: [three] });
    const path = scene.layout.state("mesh");
    await expect.poll(() => readState(scene.layout, "mesh"), PATIENT).toBeDefined();
    const names = Array.from({ length: 20 }, (_, at) => `${at}.md`);
    for (const name of names) scene.send("mesh", name, "# Work\n");
    while (!scene.facts.some(isEndOf("mesh", null, names.at(-1)))) {
      expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ mesh: "mesh" });
      await new Promise(setImmediate);
    }
    rmSync(path);
    scene.send("mesh", "last.md", "# Work\n");
    await expect.poll(() => readState(scene.layout, "mesh")?.tasks_completed, PATIENT).toBe(21);
  });
});

describe("Event Bus", () => {
  /** The seed's events, and the facts by which they are told here. */
  const FACTS = {
    "watcher:started": "mesh.opened",
    "file:inbox:new": "mesh.received",
    "task:queued": "mesh.received",
    "queue:process:next": "mesh.activated",
    "task:activated": "mesh.activated",
    "file:complete:new": "mesh.completed",
    "watcher:stopped": "mesh.closed",
  };

  test("a task is told of from its coming to its end, each event once, in its order", async () => {
    await using scene = await project({ configs: [one] });
    scene.send("test", "t.md", "# Work\n");
    await scene.until(isEndOf("test"));
    await scene.meshes.close();
    const told = scene.facts.map(({ type, data }) => [type, "agent" in data ? data.agent : null]);
    expect(told).toEqual([
      ["mesh.opened", null],
      ["mesh.received", null],
      ["mesh.activated", null],
      ["mesh.received", "worker"],
      ["mesh.activated", "worker"],
      ["mesh.told", "worker"],
      ["mesh.completed", "worker"],
      ["mesh.completed", null],
      ["mesh.closed", null],
    ]);
    const types = new Set(told.map(([type]) => type));
    expect(Object.values(FACTS).filter((type) => !types.has(type))).toEqual([]);
  });
});
