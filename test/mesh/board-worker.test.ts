import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { isEndOf, type Script, ScriptedProject } from "../../src/mesh/testing/scripted-project.ts";
import type { MeshConfig } from "../../src/protocol/index.ts";
import { call, script, startTeam, type TeamPlan, type TestTeam, until } from "../../src/testing/index.ts";
import { MeshHouse } from "./house.ts";

const pair: MeshConfig = {
  mesh: "pair",
  type: "persistent",
  description: "A writer and a critic.",
  agents: ["x/writer", "x/critic"],
  workflow: ["writer", "critic"],
};

const projects: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of projects.splice(0)) await project.close();
});

/** A project whose meshes somebody else has at work already: by files is all that the team can reach it. */
async function projectOf(agents: Record<string, Script>, config = pair): Promise<ScriptedProject> {
  const project = await ScriptedProject.open({ configs: [config], agents });
  projects.push(project);
  return project;
}

/** A coordinator that hires the mesh for one node. */
function hiring({ deliverables = ["essay.md"], end = "node-1 completed", task = "Write an essay." } = {}) {
  return script(
    call("spawn_worker", { name: "Clara", program: "mesh/pair" }),
    call("create_work_node", { task, deliverables, worker: "Clara" }),
    call("finish", { summary: "done" }).after(end),
  );
}

const teamOn = (project: ScriptedProject, plan: Omit<TeamPlan, "goal" | "project">): Promise<TestTeam> =>
  startTeam({ goal: "g", project: project.dir, trusted: true, ...plan });

const outputOf = ({ layout }: ScriptedProject) => layout.output("pair");
const published = ({ agent }: TestTeam, node: string) => join(agent.log.dir, "runs/run-1/nodes", node, "published");

/** Writes the essay, then says so. */
const writes =
  (project: () => ScriptedProject, text = "An essay.\n"): Script =>
  (_, say) => {
    writeFileSync(join(outputOf(project()), "essay.md"), text);
    say("mesh", "task-complete", "Written.\n");
  };

test("a mesh is hired like anybody: its entry gets the spec and the refs, what it made is published, its words are the summary", async () => {
  let brief = "";
  const project: ScriptedProject = await projectOf({
    writer(message, say) {
      brief = message.body;
      const [, path = ""] = /`(.*)`/.exec(message.body.split("## What it builds on")[1] ?? "") ?? [];
      mkdirSync(join(outputOf(project), "parts"));
      writeFileSync(join(outputOf(project), "parts/one.md"), readFileSync(join(project.dir, path), "utf8"));
      writeFileSync(join(outputOf(project), "essay.md"), "An essay.\n");
      say("mesh", "task-complete", "A draft.\n");
    },
    critic: (_, say) => say("mesh", "task-complete", "It is good.\n\nAnd short.\n"),
  });
  // Of an earlier task, long before Alice is done: not what this one made.
  writeFileSync(join(outputOf(project), "old.md"), "old");
  const coordinator = script(
    call("create_work_node", { task: "Measure it.", deliverables: ["data.md"] }),
    call("spawn_worker", { name: "Clara", program: "mesh/pair" }).after("node-1 completed"),
    call("create_work_node", {
      task: "Write an essay about the data.",
      deliverables: ["essay.md"],
      refs: { data: "nodes/node-1/published/data.md" },
      worker: "Clara",
    }),
    call("finish", { summary: "done" }).after("node-2 completed"),
  );
  const workers = {
    Alice: script(
      call("write_file", { path: "scratch/data.md", content: "80 m\n" }),
      call("publish", { summary: "80 m" }),
    ),
  };
  await using team = await teamOn(project, { coordinator, workers });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

  const task = `${team.agent.log.id}-node-2`;
  expect(brief).toBe(
    `# Write an essay about the data.

Write an essay about the data.

## What has to be delivered

In shared/output/, under exactly these names:

- essay.md

## What it builds on

- data: \`.ai/tx/mesh/pair/shared/refs/${task}/node-1/published/data.md\`

## Who gave it

This is a node of a larger piece of work. To ask those who gave you this task something, or to tell them something, ask the agent \`agiraph\` (a first line \`TO: name\` is for somebody in their team).
`,
  );
  expect(team.agent.now.board.nodes["node-2"]).toMatchObject({
    status: "completed",
    worker_id: "clara",
    summary: "It is good.\n\nAnd short.",
  });
  expect(team.agent.now.roster.clara?.spawned).toMatchObject({ kind: "mesh", program: "mesh/pair" });
  const folder = published(team, "node-2");
  expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual(["essay.md", "parts", "parts/one.md"]);
  expect(readFileSync(join(folder, "parts/one.md"), "utf8")).toBe("80 m\n");
  expect(project.queues("pair")).toEqual({ complete: [`${task}.md`, `${task}.pair.done.md`] });
});

test("what the mesh cannot do fails the node at once, with its words", async () => {
  const project = await projectOf({ writer: (_, say) => say("mesh", "error", "There is no ink.\n") });
  await using team = await teamOn(project, { coordinator: hiring({ end: "node-1 failed" }) });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({
    status: "failed",
    outcome: { kind: "abandoned", error: "writer: There is no ink." },
  });
  expect(project.told.filter((line) => line.startsWith("writer: task"))).toHaveLength(1);
});

test("a node that is cancelled stops the mesh: its entry is told, and Clara is free", async () => {
  const stopped = Promise.withResolvers<string>();
  const project = await projectOf({
    writer({ header: { type }, body }) {
      if (type === "ask") stopped.resolve(body);
    },
  });
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "mesh/pair" }),
    call("create_work_node", { task: "Write an essay.", worker: "Clara" }),
    call("finish", { summary: "without it" }).after("Your human cancelled node-1: No essay."),
  );
  await using team = await teamOn(project, { coordinator });
  await until(team.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  await project.until((fact) => fact.type === "mesh.received" && fact.data.agent === "writer");
  expect(await team.agent.cancel("node-1", "No essay.")).toBe("node-1 is cancelled.");
  expect(await stopped.promise).toBe(
    "# Stop\n\nThis task is no longer wanted. Stop working on it and end it with what you have.\n",
  );
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "without it" });
  expect(team.agent.now.roster.clara?.status).toBe("idle");
});

test("a message to it is a question to its entry, and what it says to agiraph goes to the team", async () => {
  const project: ScriptedProject = await projectOf({
    writer({ header: { type }, body, name }, say) {
      if (type === "task") say("agiraph", "ask", "TO: coordinator\nIn which language?\n");
      if (type !== "ask") return;
      expect(body).toContain("[Message from Coordinator]: In Rust, please.");
      say("agiraph", "ask-response", "Rust it is.\n", { "in-reply-to": name.replace(".md", "") });
      writes(() => project)({} as never, say);
    },
  });
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "mesh/pair" }),
    call("create_work_node", { task: "Write an essay.", deliverables: ["essay.md"], worker: "Clara" }),
    call("send_message", { to: "Clara", content: "In Rust, please." }).after("pair/writer: In which language?"),
    call("finish", { summary: "done" }).after("pair/writer: Rust it is.", "node-1 completed"),
  );
  await using team = await teamOn(project, { coordinator });
  await team.outcome();
  const sent = (await team.facts()).flatMap((fact) => (fact.type === "message.sent" ? [fact.data] : []));
  expect(sent.map(({ from, to, text }) => [from, to, text])).toEqual([
    ["clara", "coordinator", "pair/writer: In which language?"],
    ["coordinator", "clara", "In Rust, please."],
    ["clara", "coordinator", "pair/writer: Rust it is."],
  ]);
  expect(project.queues("pair").outbox).toBeUndefined();
});

test("a result that is refused goes back to the mesh, which is told why", async () => {
  const project: ScriptedProject = await projectOf({
    writer({ body }, say) {
      if (body.startsWith("# Not done yet")) return writes(() => project)({} as never, say);
      writeFileSync(join(outputOf(project), "esay.md"), "An essay.\n");
      say("mesh", "task-complete", "Written.\n");
    },
  });
  await using team = await teamOn(project, { coordinator: hiring() });
  await team.outcome();
  const second = project.heard.filter(({ agent }) => agent === "writer").at(-1)?.message.body;
  expect(second).toMatch(/^# Not done yet: Write an essay\.\n\n.*essay\.md.*# Write an essay\./s);
  expect(readdirSync(published(team, "node-1")).toSorted()).toEqual(["esay.md", "essay.md"]);
});

test("a mesh that never delivers what is asked for fails the node after three rounds", async () => {
  const project = await projectOf({});
  await using team = await teamOn(project, { coordinator: hiring({ end: "node-1 failed" }) });
  await team.outcome();
  expect(team.agent.now.board.nodes["node-1"]).toMatchObject({ status: "failed", outcome: { kind: "abandoned" } });
  expect(project.told.filter((line) => line.startsWith("writer: task"))).toHaveLength(3);
});

test("an answer without files is published as a file", async () => {
  const project = await projectOf({ critic: (_, say) => say("mesh", "task-complete", "It is 42.\n") });
  await using team = await teamOn(project, { coordinator: hiring({ deliverables: [] }) });
  await team.outcome();
  expect(readFileSync(join(published(team, "node-1"), "result.md"), "utf8")).toBe("It is 42.\n");
});

/** The project is a repository with one commit. */
function commitAll({ dir }: ScriptedProject): void {
  writeFileSync(join(dir, "main.js"), "main();\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=P", "-c", "user.email=p@p", ...args], { cwd: dir });
  git("init", "-q", "-b", "main");
  git("add", "main.js");
  git("commit", "-qm", "first");
}

test("where the team changes a repository, what the mesh made is a commit, and an answer alone is not in it", async () => {
  const briefs: string[] = [];
  const project: ScriptedProject = await projectOf({
    writer({ body }, say) {
      briefs.push(body);
      if (body.startsWith("# Change it.")) writeFileSync(join(outputOf(project), "main.js"), "changed();\n");
      say("mesh", "task-complete", "Done.\n");
    },
  });
  commitAll(project);
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "mesh/pair" }),
    call("create_work_node", { task: "Change it.", deliverables: ["main.js"], worker: "Clara" }),
    call("create_work_node", { task: "Judge it.", worker: "Clara" }).after("node-1 completed"),
    call("finish", { summary: "done" }).after("node-2 completed"),
  );
  await using team = await teamOn(project, { coordinator, write: true, env: { PATH: process.env.PATH } });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.repository?.nodes).toMatchObject({
    "node-1": { state: "merged", commit: { files: 1, insertions: 1, deletions: 1 } },
    "node-2": { commit: null },
  });
  expect(briefs[0]).toContain("is copied into the repository, under the same path");
  expect(readFileSync(join(published(team, "node-2"), "result.md"), "utf8")).toBe("critic\n");
  expect(readFileSync(join(project.dir, "main.js"), "utf8")).toBe("main();\n");
});

test("after a restart it is taken up by its name: what was done meanwhile is published, and nothing is given twice", async () => {
  const held = Promise.withResolvers<void>();
  const project: ScriptedProject = await projectOf({
    async writer(message, say) {
      await held.promise;
      writes(() => project)(message, say);
    },
  });
  const coordinator = hiring();
  const team = await teamOn(project, { coordinator });
  await until(team.agent, ({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  await project.until((fact) => fact.type === "mesh.received" && fact.data.agent === "writer");
  const again = await team.restart();
  const ended = project.until(isEndOf("pair"));
  held.resolve();
  await ended;
  await again.agent.start("recovered");
  expect(await again.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(again.agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "critic" });
  expect(project.told.map((line) => line.replace(/agent-[a-z0-9]+/, "ID"))).toEqual([
    "writer: task ID-node-1.0.md",
    "critic: task ID-node-1.1.md",
  ]);
  await again[Symbol.asyncDispose]();
});

test("an ephemeral mesh is put away when its result was taken, not before", async () => {
  const project: ScriptedProject = await projectOf({ writer: writes(() => project) }, { ...pair, type: "ephemeral" });
  const closed = project.until((fact) => fact.type === "mesh.closed");
  await using team = await teamOn(project, { coordinator: hiring() });
  await team.outcome();
  await closed;
  expect(readFileSync(join(published(team, "node-1"), "essay.md"), "utf8")).toBe("An essay.\n");
  expect(existsSync(project.layout.mesh("pair"))).toBe(false);
});

test("a name that no mesh has is refused with the nearest one, and the coordinator knows which there are", async () => {
  const project = await projectOf({});
  const coordinator = script(
    call("spawn_worker", { name: "Clara", program: "mesh/pear" }),
    call("finish", { summary: "done" }).after('There is no mesh "pear". Did you mean mesh/pair?'),
  );
  await using team = await teamOn(project, { coordinator });
  await team.outcome();
  const [request] = coordinator.requests;
  expect(JSON.stringify(request)).toContain("mesh/pair: A team that this project declares");
  expect(JSON.stringify(request)).toContain("A writer and a critic.");
});

test("where nobody moves the messages of the project, the house does it itself", async () => {
  const mind = (name: string) => ({ options: { model: `scripted/${name}`, runs: "harnessed" as const } });
  const coordinator = hiring();
  const writer = script(
    call("write_file", { path: "output/essay.md", content: "An essay.\n" }).after("Write an essay."),
    call("tx_done", { summary: "A draft." }),
  );
  const critic = script(call("tx_done", { summary: "It is good." }).after("A draft."));
  await using house = await new MeshHouse({
    meshes: [pair],
    agents: { writer: mind("writer"), critic: mind("critic") },
    minds: { "scripted/writer": writer, "scripted/critic": critic, "scripted/coordinator": coordinator },
  }).open();
  await house.trust();
  const agent = await house.runtime.create({ goal: "g", model: "scripted/coordinator", project: house.project });
  await agent.idle();
  expect(agent.now.board.nodes["node-1"]).toMatchObject({ status: "completed", summary: "It is good." });
  const { projects } = await house.api.meshProjects();
  expect(projects.map(({ project, status }) => [project, status])).toEqual([[house.project, "working"]]);
});
