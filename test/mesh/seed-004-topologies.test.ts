import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isEndOf, type ScriptedOptions } from "../../src/mesh/testing/scripted-project.ts";
import { declared, PATIENT, Patient, project } from "./seed-004.ts";

/** The seed's configs as they stand, with the two fields that it requires of all. */
const asMesh = (config: string, agents?: string[]) =>
  JSON.stringify({ mesh: "mesh", type: "persistent", ...(agents && { agents }), ...JSON.parse(config) });

async function opened(config: string, options: Omit<ScriptedOptions, "configs"> = {}) {
  const scene = declared(config, options);
  await scene.meshes.open();
  expect([...scene.meshes.problems]).toEqual([]);
  return scene;
}

/** People who end nothing by themselves. */
function patients<T extends string>(...names: T[]) {
  const people = Object.fromEntries(names.map((name) => [name, new Patient()])) as Record<T, Patient>;
  const agents = Object.fromEntries(names.map((name) => [name, people[name].script]));
  return { people, agents };
}

describe("Topology Implementations", () => {
  test("nested: a step may hold steps again, and what follows builds on all of them", async () => {
    const workflow = ["agent1", { parallel: ["agent2", { sequential: ["agent3", "agent4"] }] }, "agent1"];
    const config = asMesh(JSON.stringify({ workflow }), ["agent1", "agent2", "agent3", "agent4"]);
    await using scene = await opened(config);
    scene.send("mesh", "t.md", "# Work\n");
    await scene.until(isEndOf("mesh"));
    const [first, ...rest] = scene.told;
    expect([first, rest.at(-1)]).toEqual(["agent1: task t.0.md", "agent1: task t.2.md"]);
    expect(rest.slice(0, -1).toSorted()).toEqual([
      "agent2: task t.1.0.md",
      "agent3: task t.1.1.0.md",
      "agent4: task t.1.1.1.md",
    ]);
    expect(scene.heard.at(-1)?.message.body).toContain("### agent2\n\nagent2\n\n### agent4\n\nagent4");
  });
});

describe("1. Sequential Topology", () => {
  const config = asMesh('{ "topology": "sequential", "workflow": ["agent1", "agent2", "agent3"] }', [
    "agent1",
    "agent2",
    "agent3",
  ]);

  test("tasks flow from one to the next: each completes before the next starts, and is handed on", async () => {
    const { people, agents } = patients("agent1", "agent2", "agent3");
    await using scene = await opened(config, { agents });
    scene.send("mesh", "t.md", "# Work\n");
    const given = () => [people.agent1.given, people.agent2.given, people.agent3.given];
    await expect.poll(given, PATIENT).toEqual([["t.0.md"], [], []]);
    people.agent1.end("t.0.md");
    await expect.poll(given, PATIENT).toEqual([[], ["t.1.md"], []]);
    people.agent2.end("t.1.md");
    await expect.poll(given, PATIENT).toEqual([[], [], ["t.2.md"]]);
    people.agent3.end("t.2.md");
    expect(await scene.until(isEndOf("mesh"))).toMatchObject({ data: { gist: "The end of t.2.md" } });
    expect(scene.heard.map(({ message }) => message.header.status)).toEqual(["pending", "handoff", "handoff"]);
  });
});

describe("2. Parallel Topology", () => {
  const config = asMesh('{ "topology": "parallel", "agents": ["agent1", "agent2", "agent3"] }');

  test("the same task for all at once; it is complete when the last of them is, in any order", async () => {
    const { people, agents } = patients("agent1", "agent2", "agent3");
    await using scene = await opened(config, { agents });
    scene.send("mesh", "t.md", "# Work\n\nThe same for all.\n");
    const given = () => [people.agent1.given, people.agent2.given, people.agent3.given];
    await expect.poll(given, PATIENT).toEqual([["t.0.md"], ["t.1.md"], ["t.2.md"]]);
    expect(new Set(scene.heard.map(({ message }) => message.body)).size).toBe(1);
    people.agent3.end("t.2.md");
    await scene.until(isEndOf("mesh", "agent3"));
    people.agent1.end("t.0.md");
    await scene.until(isEndOf("mesh", "agent1"));
    expect(scene.queues("mesh")).toEqual({ active: ["t.md"] });
    people.agent2.end("t.1.md");
    await scene.until(isEndOf("mesh"));
    expect(scene.queues("mesh")).toEqual({ complete: ["t.md"] });
  });
});

describe("3. Map-Reduce Topology", () => {
  const workflow = '{ "map": ["mapper1", "mapper2", "mapper3"], "reduce": ["reducer"] }';
  const config = asMesh(`{ "topology": "map-reduce", "workflow": ${workflow} }`, [
    ...["mapper1", "mapper2", "mapper3", "reducer"],
  ]);

  test("all map at once, and the reducer begins with what every one of them has found", async () => {
    const { people, agents } = patients("mapper1", "mapper2", "mapper3", "reducer");
    await using scene = await opened(config, { agents });
    scene.send("mesh", "t.md", "# Work\n");
    const { mapper1, mapper2, mapper3, reducer } = people;
    await expect
      .poll(() => [mapper1, mapper2, mapper3].flatMap(({ given }) => given), PATIENT)
      .toEqual(["t.map.0.md", "t.map.1.md", "t.map.2.md"]);
    mapper2.end("t.map.1.md");
    mapper1.end("t.map.0.md");
    await scene.until(isEndOf("mesh", "mapper1"));
    await scene.until(isEndOf("mesh", "mapper2"));
    expect(reducer.given).toEqual([]);
    mapper3.end("t.map.2.md");
    await expect.poll(() => reducer.given, PATIENT).toEqual(["t.reduce.0.md"]);
    const active = scene.layout.queue({ mesh: "mesh", agent: "reducer" }, "active");
    expect(readFileSync(join(active, "t.reduce.0.md"), "utf8")).toContain(
      "### mapper1\n\nThe end of t.map.0.md\n\n### mapper2\n\nThe end of t.map.1.md\n\n### mapper3\n\nThe end of t.map.2.md",
    );
    reducer.end("t.reduce.0.md");
    expect(await scene.until(isEndOf("mesh"))).toMatchObject({ data: { gist: "The end of t.reduce.0.md" } });
  });
});

describe("4. Hierarchical Topology", () => {
  const config = asMesh('{ "agents": ["orchestrator", "specialist1", "specialist2"] }');

  test("without a topology the first leads: it hands parts on, hears of each end, and ends the whole", async () => {
    const ended: string[] = [];
    await using scene = await opened(config, {
      agents: {
        orchestrator: ({ header }, say) => {
          if (header.type === "task")
            for (const part of ["specialist1", "specialist2"]) say(part, "task", `# For ${part}\n`);
          else if (header.type === "task-complete" && ended.push(header.from) === 2)
            say("mesh", "task-complete", "Put together.\n");
        },
      },
    });
    expect(scene.meshes.meshes.get("mesh")?.declared.topology).toBe("hierarchical");
    scene.send("mesh", "t.md", "# Work\n");
    expect(await scene.until(isEndOf("mesh"))).toMatchObject({ data: { gist: "Put together." } });
    expect(ended.toSorted()).toEqual(["mesh/specialist1", "mesh/specialist2"]);
  });
});

describe("Key Design Principles", () => {
  const relay = (workflow: string[]) => ({
    mesh: "relay",
    type: "persistent" as const,
    agents: ["x/first", "x/second"],
    workflow,
  });

  test("file-based, event-driven, FIFO: files by any hand, in the order they came, with nobody asking", async () => {
    await using scene = await project({ configs: [relay(["first"])] });
    for (const name of ["z", "a", "m"])
      scene.write(`.ai/tx/mesh/relay/msgs/inbox/${name}.md`, "---\nfrom: human\nto: relay\ntype: task\n---\nWork\n");
    await scene.until(isEndOf("relay", null, "m.md"));
    expect(scene.told).toEqual(["z", "a", "m"].map((name) => `first: task ${name}.0.md`));
  });

  test("stateless agents: another in its place is told from the files, and goes on", async () => {
    const worker = new Patient();
    await using scene = await project({ configs: [relay(["first", "second"])], agents: { first: worker.script } });
    scene.send("relay", "t.md", "# Work\n");
    await expect.poll(() => worker.given, PATIENT).toEqual(["t.0.md"]);
    await scene.reopen();
    await expect.poll(() => scene.told, PATIENT).toEqual(["first: task t.0.md", "first: task t.0.md"]);
    worker.end("t.0.md");
    await scene.until(isEndOf("relay"));
    expect(scene.told.at(-1)).toBe("second: task t.1.md");
  });

  test("hot reload: a changed workflow holds from the next task on; a broken one is said, and the old one holds", async () => {
    await using scene = await project({ configs: [relay(["first"])] });
    scene.declare(relay(["second", "first"]));
    await scene.until((fact) => fact.type === "mesh.reloaded" && fact.data.problem === null);
    scene.write("meshes/mesh-configs/relay.json", '{"mesh": "relay"}');
    await scene.until((fact) => fact.type === "mesh.reloaded" && fact.data.problem !== null);
    scene.send("relay", "t.md", "# Work\n");
    await scene.until(isEndOf("relay"));
    expect(scene.told).toEqual(["second: task t.0.md", "first: task t.1.md"]);
  });
});
