import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { MeshFact } from "../../protocol/index.ts";
import { format, MAX_MESSAGE } from "../files/message-file.ts";
import { isEndOf, type Script, type ScriptedOptions, ScriptedProject } from "../testing/scripted-project.ts";

const opened: ScriptedProject[] = [];
afterEach(async () => {
  for (const project of opened.splice(0)) await project.close();
});

async function open(options: ScriptedOptions): Promise<ScriptedProject> {
  const project = new ScriptedProject(options);
  opened.push(project);
  await project.meshes.open();
  return project;
}

/** Ends every task with these words, and does nothing about anything else. */
const does =
  (words: string): Script =>
  ({ header }, say) => {
    if (header.type === "task") say("mesh", "task-complete", `${words}\n`);
  };

const isQuarantined = ({ type }: MeshFact) => type === "mesh.quarantined";

test("sequential: a task goes from one to the next with what was done before, and every message is in one place", async () => {
  const project = await open({
    configs: [{ mesh: "review", type: "persistent", agents: ["x/writer", "x/critic"], workflow: ["writer", "critic"] }],
    agents: { writer: does("A draft."), critic: does("It is good.") },
  });
  project.send("review", "essay.md", "# Write an essay\n");
  await project.until(isEndOf("review"));
  expect(project.heard.map(({ message }) => message)).toEqual([
    {
      name: "essay.0.md",
      header: {
        from: "review",
        to: "review/writer",
        type: "task",
        status: "pending",
        task: "essay",
        step: "0",
        "msg-id": "essay.0",
        timestamp: "2026-01-02T03:04:05.000Z",
      },
      body: "# Write an essay\n",
    },
    {
      name: "essay.1.md",
      header: {
        from: "review/writer",
        to: "review/critic",
        type: "task",
        status: "handoff",
        task: "essay",
        step: "1",
        "msg-id": "essay.1",
        timestamp: "2026-01-02T03:04:05.000Z",
      },
      body: "# Handoff from writer to critic\n\n## Previous Work\n\nA draft.\n\n## The Task\n\n# Write an essay\n",
    },
  ]);
  expect([project.queues("review"), project.queues("review", "writer"), project.queues("review", "critic")]).toEqual([
    { complete: ["essay.md"] },
    { complete: ["essay.0.md", "essay.0.result.md"] },
    { complete: ["essay.1.md", "essay.1.result.md"] },
  ]);
});

test("parallel: all get the same at once, and it is over when all are done", async () => {
  const project = await open({
    configs: [{ mesh: "looks", type: "task", topology: "parallel", agents: ["x/a", "x/b", "x/c"] }],
  });
  project.send("looks", "it.md", "# Look\n");
  expect(await project.until(isEndOf("looks"))).toEqual({
    type: "mesh.completed",
    data: { mesh: "looks", agent: null, name: "it.md", gist: "a" },
  });
  expect(project.heard.map(({ agent, message }) => [agent, message.body])).toEqual([
    ["a", "# Look\n"],
    ["b", "# Look\n"],
    ["c", "# Look\n"],
  ]);
});

test("map-reduce: the reducer hears from every mapper", async () => {
  const project = await open({
    configs: [
      {
        mesh: "count",
        type: "persistent",
        agents: ["x/m1", "x/m2", "x/sum"],
        workflow: { map: ["m1", "m2"], reduce: ["sum"] },
      },
    ],
    agents: { m1: does("1"), m2: does("2"), sum: does("3") },
  });
  project.send("count", "n.md", "# Count\n");
  await project.until(isEndOf("count"));
  expect(project.heard.at(-1)?.message.body).toBe(
    "# Handoff from m1, m2 to sum\n\n## Previous Work\n\n### m1\n\n1\n\n### m2\n\n2\n\n## The Task\n\n# Count\n",
  );
});

test("hierarchical: one hands parts on, hears of each end, and ends the whole; a question is answered meanwhile", async () => {
  const told: string[] = [];
  const project = await open({
    configs: [{ mesh: "plan", type: "task", agents: ["x/lead", "x/coder"] }],
    agents: {
      lead({ header }, say) {
        told.push(`lead: ${header.type} from ${header.from}`);
        if (header.type === "task") say("coder", "task", "# Code it\n");
        if (header.type === "ask") say("coder", "ask-response", "In Rust.\n");
        if (header.type === "task-complete") say("mesh", "task-complete", "All done.\n");
      },
      coder({ header }, say) {
        told.push(`coder: ${header.type} from ${header.from}`);
        if (header.type === "task") say("lead", "ask", "In which language?\n");
        else say("mesh", "task-complete", "Coded.\n");
      },
    },
  });
  project.send("plan", "go.md", "# Build\n");
  await project.until(isEndOf("plan"));
  expect(told).toEqual([
    "lead: task from plan",
    "coder: task from plan/lead",
    "lead: ask from plan/coder",
    "coder: ask-response from plan/lead",
    "lead: task-complete from plan/coder",
  ]);
});

test("nested: a map-reduce within a sequence, then two at once, then whoever completes", async () => {
  const project = await open({
    configs: [
      {
        mesh: "deep",
        type: "persistent",
        agents: ["x/a", "x/b", "x/c", "x/d"],
        workflow: ["a", { map: ["b", "c"], reduce: ["a"] }, { parallel: ["b", { sequential: ["c", "a"] }] }],
        completion_agent: "d",
      },
    ],
  });
  project.send("deep", "t.md", "# T\n");
  await project.until(isEndOf("deep"));
  expect(project.told.map((line) => line.replace(": task t.", " ")).toSorted()).toEqual([
    "a 0.md",
    "a 1.reduce.0.md",
    "a 2.1.1.md",
    "b 1.map.0.md",
    "b 2.0.md",
    "c 1.map.1.md",
    "c 2.1.0.md",
    "d completion.md",
  ]);
});

test.each([
  ["passes", [null], "completed", ["writer: task t.0.md"]],
  [
    "fails twice, then passes",
    ["no", "no", null],
    "completed",
    ["writer: task t.0.md", "writer: task t.fix-1.md", "writer: task t.fix-2.md"],
  ],
  [
    "fails for good",
    ["no", "no", "no", "no"],
    "failed",
    ["writer: task t.0.md", "writer: task t.fix-1.md", "writer: task t.fix-2.md", "writer: task t.fix-3.md"],
  ],
])("a gate that %s", async (_, answers, end, told) => {
  const left = [...answers];
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/writer"], validation_gates: ["tests"] }],
    gates: { tests: async () => left.shift() ?? null },
  });
  project.send("m", "t.md", "# T\n");
  const { type } = await project.until(isEndOf("m"));
  expect([type, left, project.told]).toEqual([`mesh.${end}`, [], told]);
});

test("a gate that throws is one that did not pass; who gives up on a correction fails the task", async () => {
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/writer"], validation_gates: ["tests"] }],
    gates: { tests: () => Promise.reject(new Error("no shell")) },
    agents: {
      writer({ header }, say) {
        if (header.step === "0") say("mesh", "task-complete", "Done.\n");
        else say("mesh", "error", "I cannot.\n");
      },
    },
  });
  project.send("m", "t.md", "# T\n");
  expect(await project.until(isEndOf("m"))).toEqual({
    type: "mesh.failed",
    data: { mesh: "m", agent: null, name: "t.md", why: "writer: I cannot." },
  });
  expect(project.heard.at(-1)?.message.body).toBe(
    "# Correct what did not pass\n\nThe gate tests did not pass:\n\nThe gate itself failed: no shell\n\n## The Task\n\n# T\n",
  );
});

test("across meshes: who asks another mesh for something hears of its end; under one name from several and twice, each answer is one", async () => {
  const heard: string[] = [];
  const project = await open({
    configs: [
      { mesh: "plan", type: "persistent", agents: ["x/lead", "x/c1", "x/c2"] },
      { mesh: "review", type: "persistent", agents: ["y/critic"] },
    ],
    agents: {
      lead({ header, body }, say) {
        if (header.type === "task") {
          say("review", "task", "# For review\n", { name: "part.md" });
          return;
        }
        heard.push(`${header.from}: ${body.split("\n")[0]}`);
        if (heard.length === 1) say("c1", "task", "# For c1\n", { name: "part.md" });
        if (heard.length === 2) say("plan/c2", "task", "# For c2\n", { name: "part.md", from: "lead" });
        if (heard.length === 3) say("review/critic", "task", "# For the critic\n", { name: "part.md" });
        if (heard.length === 4) say("review", "task", "# Again\n", { name: "part.md" });
        if (heard.length === 5) say("mesh", "task-complete", "All.\n");
      },
    },
  });
  project.send("plan", "go.md", "# Go\n");
  await project.until(isEndOf("plan"));
  expect(heard).toEqual([
    "review: # Done: For review",
    "plan/c1: # Done: For c1",
    "plan/c2: # Done: For c2",
    "review/critic: # Done: For the critic",
    "review: # Done: Again",
  ]);
});

test("what an agent says under another's name, to nobody, or of no task goes to quarantine with the reason, and the rest goes on", async () => {
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }],
    agents: {
      a(_, say) {
        say("human", "ask", "Who?\n", { from: "m/b", name: "1.md" });
        say("nobody", "ask", "Who?\n", { name: "2.md" });
        say("mesh", "task-complete", "Done.\n", { "in-reply-to": "other", name: "3.md" });
        say("human", "ask", "Which?\n", { name: "q.md" });
        say("mesh", "task-complete", "Done.\n", { "in-reply-to": "t.0", name: "5.md" });
      },
    },
  });
  project.send("m", "t.md", "# T\n");
  await project.until(isEndOf("m"));
  expect(project.facts.filter(isQuarantined).map(({ data }) => data)).toEqual([
    { mesh: "m", agent: "a", name: "1.md", why: '"from" says m/b, but it is in the outbox of m/a.' },
    {
      mesh: "m",
      agent: "a",
      name: "2.md",
      why: '"to": there is no nobody for m/a. Agents here: a. Meshes: m. Also: mesh, human.',
    },
    {
      mesh: "m",
      agent: "a",
      name: "3.md",
      why: '"in-reply-to" says other, but there is no such task here; active is t.0.md.',
    },
  ]);
  expect([project.queues("m", "a"), project.toHuman.map(({ name }) => name)]).toEqual([
    {
      complete: ["q.md", "t.0.md", "t.0.result.md"],
      quarantine: ["1.md", "1.reason.md", "2.md", "2.reason.md", "3.md", "3.reason.md"],
    },
    ["q.md"],
  ]);
});

test("two questions to the human under one name are two", async () => {
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }],
    agents: {
      a({ header }, say) {
        say("human", "ask", "Which?\n", { name: "q.md" });
        if (header.type === "task") say("mesh", "task-complete", "Done.\n");
      },
    },
  });
  for (const name of ["1.md", "2.md"]) {
    project.send("m", name, "# T\n");
    await project.until(isEndOf("m", null, name));
  }
  expect(project.toHuman.map(({ name }) => name)).toEqual(["q.md", "q~2.md"]);
});

test("whatever a person calls a file: long, foreign, with spaces and signs, like one of ours, twice: it goes through", async () => {
  const names = [
    "my task & more.md",
    `${"漢".repeat(80)}.md`,
    `${"x".repeat(240)}.md`,
    "a\nb: [c].md",
    "t.0.md",
    "---.md",
    "😀#~2.md",
    "the.reason.md",
  ];
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a", "x/b"], workflow: ["a", "b"] }],
  });
  for (const name of [...names, "my task & more.md"]) {
    const end = project.next(isEndOf("m"));
    project.send("m", name, "# T\n");
    await end;
  }
  expect(project.facts.filter(isQuarantined)).toEqual([]);
  expect(project.queues("m")).toEqual({ complete: [...names, "my task & more~2.md"].toSorted() });
});

test("a message as large as a message may be is handed on, cut where a message ends", async () => {
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a", "x/b"], workflow: ["a", "b"] }],
    agents: { a: does("more ".repeat(200_000)), b: does("Done.") },
  });
  const header = format({ from: "human", to: "m", type: "task", status: "pending" }, "");
  project.send("m", "t.md", "x".repeat(MAX_MESSAGE - header.length));
  await project.until(isEndOf("m"));
  const cut = "(cut: it was too long for a message)\n";
  expect(project.heard.map(({ message: { body } }) => [body.length > 900_000, body.includes(cut)])).toEqual([
    [true, true],
    [true, true],
  ]);
});

test("two who are given messages of one name at one time both answer", async () => {
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/lead", "x/c1", "x/c2"] }],
    agents: { c1: () => {}, c2: () => {} },
  });
  const header = { from: "m/lead", type: "task", status: "pending" } as const;
  for (const agent of ["c1", "c2"]) {
    project.put({ mesh: "m", agent }, "inbox", "part.md", format({ ...header, to: agent }, `# For ${agent}\n`));
    await project.until(({ type, data }) => type === "mesh.told" && data.agent === agent);
  }
  for (const agent of ["c1", "c2"]) {
    const end = { from: agent, to: "mesh", type: "task-complete", status: "pending" } as const;
    project.put({ mesh: "m", agent }, "outbox", "end.md", format(end, "Done.\n"));
    await project.until(({ type, data }) => type === "mesh.told" && data.agent === "lead" && data.name.includes(agent));
  }
  expect(project.told.slice(2)).toEqual([
    "lead: task-complete part.m.c1.done.md",
    "lead: task-complete part.m.c2.done.md",
  ]);
});

test("DELIVERY-1: what could not be told is told when the agent hears again, or is somebody else; a late word of the first try changes nothing", async () => {
  let failing = true;
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }],
    agents: {
      a({ header }, say) {
        if (failing) throw new Error("no session");
        if (header.type === "task") say("mesh", "task-complete", "Done.\n");
      },
    },
  });
  project.send("m", "t.md", "# T\n");
  await project.until(({ type }) => type === "mesh.undelivered");
  failing = false;
  await project.meshes.tellAgain("m", "a");
  await project.until(isEndOf("m"));
  expect([project.told, project.closed]).toEqual([["a: task t.0.md", "a: task t.0.md"], ["m/a"]]);
});

test("a task mesh lets its agents go when its work is done and keeps its queues; an ephemeral one is put away whole and begins anew", async () => {
  const project = await open({
    configs: [
      { mesh: "once", type: "task", agents: ["x/a"] },
      { mesh: "brief", type: "ephemeral", agents: ["x/b"] },
    ],
  });
  const isClosed = (mesh: string) => (fact: MeshFact) => fact.type === "mesh.closed" && fact.data.mesh === mesh;
  for (const mesh of ["once", "brief"]) {
    const closed = project.next(isClosed(mesh));
    project.send(mesh, "t.md", "# T\n");
    await closed;
  }
  expect(project.closed).toEqual(["once/a", "brief/b"]);
  expect(project.queues("once")).toEqual({ complete: ["t.md"] });
  const [away = ""] = readdirSync(project.layout.archive);
  expect([existsSync(project.layout.mesh("brief")), away.endsWith("-0001-brief")]).toEqual([false, true]);
  expect(readdirSync(join(project.layout.archive, away, "msgs/complete"))).toEqual(["t.md"]);

  const again = project.next(isClosed("brief"));
  project.write(".ai/tx/mesh/brief/msgs/inbox/t.md", "---\nfrom: human\nto: brief\ntype: task\n---\n# T\n");
  await again;
  expect(readdirSync(project.layout.archive).length).toBe(2);
});

test("folders: output, concepts where the config says, a workspace and prompts for each agent", async () => {
  const project = await open({
    configs: [
      { mesh: "m", type: "persistent", agents: ["x/a"], storage: { shared: true, concepts_path: "shared/ideas" } },
    ],
  });
  const folders = ["shared/output", "shared/ideas", "agents/a/workspace", "agents/a/prompts"];
  expect(folders.map((folder) => existsSync(join(project.layout.mesh("m"), folder)))).toEqual([true, true, true, true]);
});

test("archive: what was said for a task that is under way stays, whatever its age", async () => {
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a", "x/b"], workflow: ["a", "b"] }],
    agents: { b() {} },
  });
  project.send("m", "t.md", "# T\n");
  await project.until((fact) => fact.type === "mesh.told" && fact.data.agent === "b");
  expect([project.meshes.archive("m", -1), project.queues("m", "a").complete]).toEqual([
    0,
    ["t.0.md", "t.0.result.md"],
  ]);
});

test("archive: what has been complete for long is put away, and counts as done", async () => {
  const project = await open({ configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }] });
  project.send("m", "t.md", "# T\n");
  await project.until(isEndOf("m"));
  expect([project.meshes.archive("m", 1), project.meshes.archive("m", -1)]).toEqual([0, 3]);
  expect([project.meshes.getQueueStatus("m"), project.queues("m", "a")]).toEqual([
    { inbox: 0, next: 0, active: 0, complete: 0, outbox: 0, quarantine: 0, archive: 1 },
    { archive: ["t.0.md", "t.0.result.md"] },
  ]);
});
