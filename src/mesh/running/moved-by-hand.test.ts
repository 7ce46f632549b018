import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { MeshConfig, MeshFact } from "../../protocol/index.ts";
import { buildPrompt, keepPrompt, promptText } from "../declaration/prompt.ts";
import { ProjectLockedError } from "../files/lock.ts";
import { Message } from "../files/message-operations.ts";
import { isEndOf, type ScriptedOptions, ScriptedProject } from "../testing/scripted-project.ts";
import { Meshes } from "./meshes.ts";
import { readState } from "./state-file.ts";

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

const silent = () => {};
const isTold = (agent: string, name: string) => (fact: MeshFact) =>
  fact.type === "mesh.told" && fact.data.agent === agent && fact.data.name === name;

const pair: ScriptedOptions["configs"][number] = { mesh: "m", type: "persistent", agents: ["x/lead", "x/coder"] };

/** A lead that hands one part on and ends with the words it hears; a coder that says nothing. */
const delegation: ScriptedOptions = {
  configs: [pair],
  agents: {
    lead({ header, body }, say) {
      if (header.type === "task") say("coder", "task", "# Part\n", { name: "part.md" });
      else say("mesh", "task-complete", `Heard: ${body}`);
    },
    coder: silent,
  },
};

test("QUEUE-4: a hand that moves a delegated task from active to complete ends it, and who asked hears so", async () => {
  const project = await open(delegation);
  project.send("m", "t.md", "# T\n");
  await project.until(isTold("coder", "part.md"));
  project.move({ mesh: "m", agent: "coder" }, "part.md", "active", "complete");
  await project.until(isEndOf("m"));
  expect(
    readFileSync(join(project.layout.queue({ mesh: "m", agent: "lead" }, "complete"), "t.0.result.md"), "utf8"),
  ).toContain("Heard: # Done: Part\n\n(It was moved to complete/ by hand; there are no words.)");
});

test("QUEUE-4: also while nobody was there", async () => {
  const project = await open(delegation);
  project.send("m", "t.md", "# T\n");
  await project.until(isTold("coder", "part.md"));
  await project.meshes.close();
  project.move({ mesh: "m", agent: "coder" }, "part.md", "active", "complete");
  await project.reopen();
  await project.until(isEndOf("m"));
  expect(project.queues("m", "lead").complete).toEqual(["part.m.coder.done.md", "t.0.md", "t.0.result.md"]);
});

test("QUEUE-4: put back, past the line, done again: whoever moves a file is right", async () => {
  const project = await open({ configs: [{ ...pair, agents: ["x/a"] }], agents: { a: silent } });
  const own = { mesh: "m", agent: "a" };
  project.send("m", "t.md", "# T\n");
  await project.until(isTold("a", "t.0.md"));

  // Put back: it comes up again and is told again.
  const toldAgain = project.next(isTold("a", "t.0.md"));
  project.move(own, "t.0.md", "active", "inbox");
  await toldAgain;
  expect(project.queues("m", "a")).toEqual({ active: ["t.0.md"] });

  // Ended by hand: the mesh goes on as after any end.
  const ended = project.next(isEndOf("m", null, "t.md"));
  project.move(own, "t.0.md", "active", "archive");
  await ended;
  expect([project.queues("m"), project.queues("m", "a")]).toEqual([{ complete: ["t.md"] }, { archive: ["t.0.md"] }]);

  // Done again, from complete to active: under a new name, from the beginning.
  const begun = project.next(isTold("a", "t~2.0.md"));
  project.move({ mesh: "m", agent: null }, "t.md", "complete", "active");
  await begun;
  expect(project.queues("m")).toEqual({ active: ["t~2.md"] });
});

test("QUEUE-4: a step that somebody has done again ends with its new words, not with the old ones", async () => {
  let words = "first";
  const project = await open({
    configs: [{ mesh: "m", type: "persistent", agents: ["x/a", "x/b"], workflow: ["a", "b"] }],
    agents: { a: (_, say) => say("mesh", "task-complete", `${words}\n`), b: silent },
  });
  const own = { mesh: "m", agent: "a" };
  project.send("m", "t.md", "# T\n");
  await project.until(isTold("b", "t.1.md"));
  words = "second";
  await laterThan(join(project.layout.queue(own, "complete"), "t.0.result.md"));
  const again = project.next(isEndOf("m", "a", "t.0.md"));
  project.move(own, "t.0.md", "complete", "inbox");
  await again;
  expect(project.queues("m", "a")).toEqual({
    complete: ["t.0.md", "t.0.result.md"],
    archive: ["t.0.result~2.md"],
  });
  const result = () => readFileSync(join(project.layout.queue(own, "complete"), "t.0.result.md"), "utf8");
  expect(result()).toContain("second");

  words = "third";
  const third = project.next(isEndOf("m", "a", "t.0.md"));
  project.move(own, "t.0.md", "complete", "active");
  await third;
  expect(result()).toContain("third");
});

test("QUEUE-4: a finished task put back into active is done again under another name, and answered once more", async () => {
  const project = await open({
    ...delegation,
    agents: { ...delegation.agents, coder: (_, say) => say("mesh", "task-complete", "Coded.\n") },
  });
  const own = { mesh: "m", agent: "coder" };
  project.send("m", "t.md", "# T\n");
  await project.until(isEndOf("m"));
  const answered = project.next(isTold("lead", "part~2.m.coder.done.md"));
  project.move(own, "part.md", "complete", "active");
  await answered;
  expect(project.queues("m", "coder").complete).toEqual(["part.result.md", "part~2.md", "part~2.result.md"]);

  // Also while nobody was there, and never with two numbers.
  const again = project.next(isTold("lead", "part~3.m.coder.done.md"));
  await project.meshes.close();
  const ended = join(project.layout.queue(own, "complete"), "part~2.result.md");
  await laterThan(ended);
  project.move(own, "part~2.md", "complete", "active");
  await project.reopen();
  await again;
});

test("AGENT-QUEUE-4: cut off after the words of a task that waits, and begun again before it is taken for whole: it ends, once", async () => {
  const project = new ScriptedProject({ configs: [pair], agents: { coder: silent } });
  opened.push(project);
  const own = { mesh: "m", agent: "coder" };
  const task = "---\nfrom: m/lead\nto: m/coder\ntype: task\n---\n# Part\n";
  for (const queue of ["inbox", "complete"] as const) mkdirSync(project.layout.queue(own, queue), { recursive: true });
  project.put(own, "inbox", "part.md", task);
  const soon = (Date.now() + 90) / 1000;
  utimesSync(join(project.layout.queue(own, "inbox"), "part.md"), soon, soon);
  await laterThan(join(project.layout.queue(own, "inbox"), "part.md"));
  const words = "---\nfrom: m/coder\nto: mesh\ntype: task-complete\nin-reply-to: part\n---\nDone.\n";
  project.put(own, "complete", "part.result.md", words);
  const ended = project.next(isEndOf("m", "coder", "part.md"));
  await project.meshes.open();
  await ended;
  expect(project.queues("m", "coder")).toEqual({ complete: ["part.md", "part.result.md"] });
});

/** The clock of the files goes in steps of some milliseconds. */
async function laterThan(path: string): Promise<void> {
  const aside = `${path}.later`;
  await expect
    .poll(() => {
      writeFileSync(aside, "");
      return statSync(aside).ctimeMs > statSync(path).ctimeMs;
    })
    .toBe(true);
  rmSync(aside);
}

test("names as long as a file system takes: done, done again and put aside, each under one that fits", async () => {
  const project = await open({ configs: [{ ...pair, agents: ["x/a"] }] });
  const name = `${"n".repeat(252)}.md`;
  for (const time of [1, 2]) {
    const ended = project.next(isEndOf("m"));
    project.send("m", name, `# ${time}\n`);
    await ended;
  }
  for (const _ of [1, 2]) {
    const aside = project.next(({ type }) => type === "mesh.quarantined");
    project.put({ mesh: "m", agent: null }, "inbox", name, "no message\n");
    await aside;
  }
  const { complete = [], quarantine = [] } = project.queues("m");
  expect([complete.length, quarantine.length, project.facts.some(({ type }) => type === "mesh.stalled")]).toEqual([
    2,
    4,
    false,
  ]);
});

test("MESH-4: a file that is called like another's reason is not written over by it", async () => {
  const project = await open({ configs: [{ ...pair, agents: ["x/a"] }] });
  for (const name of ["x.reason.md", "x.md"]) {
    const aside = project.next(({ type }) => type === "mesh.quarantined");
    project.put({ mesh: "m", agent: null }, "inbox", name, `no message: ${name}\n`);
    await aside;
  }
  const lies = (name: string) =>
    readFileSync(join(project.layout.queue({ mesh: "m", agent: null }, "quarantine"), name), "utf8").split("\n", 1)[0];
  expect(["x.reason~2.md", "x.md"].map(lies)).toEqual(["no message: x.reason.md", "no message: x.md"]);
  expect(["x.reason~2.reason.md", "x.reason.md"].map(lies)).toEqual(Array(2).fill(lies("x.reason.md")));
});

test("deleted folders are made again, and what comes later goes through", async () => {
  const project = await open({ configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }] });
  for (const [name, folder] of [
    ["1.md", project.layout.queue({ mesh: "m", agent: "a" }, "complete")],
    ["2.md", project.layout.messages({ mesh: "m", agent: null })],
    ["3.md", project.layout.mesh("m")],
  ] as const) {
    rmSync(folder, { recursive: true });
    const inbox = project.layout.queue({ mesh: "m", agent: null }, "inbox");
    await expect.poll(() => existsSync(inbox) && existsSync(folder)).toBe(true);
    project.send("m", name, "# T\n");
    await project.until(isEndOf("m", null, name));
  }
  expect(project.facts.filter(({ type }) => type === "mesh.stalled")).toEqual([]);
});

test("MESH-4: a link, a fifo, a folder and a file that is no UTF-8 are no messages: each goes to quarantine with its reason", async () => {
  const project = await open({ configs: [{ ...pair, agents: ["x/a"] }] });
  const inbox = project.layout.queue({ mesh: "m", agent: null }, "inbox");
  symlinkSync("/etc/hostname", join(inbox, "link.md"));
  execFileSync("mkfifo", [join(inbox, "fifo.md")]);
  mkdirSync(join(inbox, "folder.md"));
  writeFileSync(join(inbox, "bytes.md"), Buffer.from([0xff, 0xfe]));
  const isAside = (name: string) => (fact: MeshFact) => fact.type === "mesh.quarantined" && fact.data.name === name;
  const facts = await Promise.all(
    ["link.md", "fifo.md", "folder.md", "bytes.md"].map((name) => project.until(isAside(name))),
  );
  expect(facts.map(({ data }) => "why" in data && data.why)).toEqual([
    "It is a link.",
    "It is not a regular file.",
    "It is not a regular file.",
    "It is not UTF-8.",
  ]);
});

test("MESH-5: what cannot be written now is said once, tried again, and done when it can", async () => {
  const project = await open({ configs: [{ mesh: "m", type: "persistent", agents: ["x/a"] }] });
  // A file where a folder should be: every message that is to be written aside fails.
  project.write(".ai/tx/tmp", "in the way");
  project.send("m", "t.md", "# T\n");
  await project.until(({ type }) => type === "mesh.stalled");
  rmSync(join(project.layout.running, "tmp"));
  await project.until(isEndOf("m"));
  expect([project.facts.filter(({ type }) => type === "mesh.stalled").length, project.told]).toEqual([
    1,
    ["a: task t.0.md"],
  ]);
});

test("MESH-LOCK-1: the second of two on one project is refused and told by whom; when the first is gone it may", async () => {
  const project = await open({ configs: [pair] });
  const second = new Meshes(project.layout, {
    now: () => 0,
    record: silent,
    member: () => ({ tell: async () => {}, close: async () => {} }),
    isTrusted: () => true,
    gate: async () => null,
    human: silent,
  });
  const refusal = await second.open().then(silent, (error: unknown) => error);
  expect(refusal).toBeInstanceOf(ProjectLockedError);
  expect(String(refusal)).toContain(`already run by pid ${process.pid}`);
  await project.meshes.close();
  await second.open();
  await second.close();
});

test("MESHES-1: a broken config is said and changes nothing; mended it holds; removed, the mesh is closed and keeps its files; declared again it goes on", async () => {
  const project = await open({ configs: [{ ...pair, agents: ["x/a"] }], agents: { a: silent, b: silent } });
  const reloaded = () => project.next(({ type }) => type === "mesh.reloaded");
  project.send("m", "t.md", "# T\n");
  await project.until(isTold("a", "t.0.md"));

  const broken = reloaded();
  project.write(
    "meshes/mesh-configs/m.json",
    '{"mesh": "m", "type": "persistent", "agents": ["x/a"], "workflow": ["z"]}',
  );
  const problem = 'meshes/mesh-configs/m.json: "workflow": z is not among the agents';
  expect(await broken).toEqual({ type: "mesh.reloaded", data: { mesh: "m", problem } });
  expect([...project.meshes.problems]).toEqual([["meshes/mesh-configs/m.json", problem]]);

  const mended = reloaded();
  project.declare({ ...pair, agents: ["x/a", "x/b"], workflow: ["a", "b"] });
  expect(await mended).toEqual({ type: "mesh.reloaded", data: { mesh: "m", problem: null } });
  expect(project.meshes.agentsByMesh()).toEqual(new Map([["m", ["a", "b"]]]));

  const closed = project.next(({ type }) => type === "mesh.closed");
  rmSync(join(project.layout.configs, "m.json"));
  expect(await closed).toEqual({ type: "mesh.closed", data: { mesh: "m", why: "it is no longer declared" } });
  expect([project.queues("m"), project.queues("m", "a"), project.closed]).toEqual([
    { active: ["t.md"] },
    { active: ["t.0.md"] },
    ["m/a"],
  ]);

  const again = project.next(isTold("a", "t.0.md"));
  project.declare({ ...pair, agents: ["x/a"] });
  await again;
});

test("two agents whose sessions would have one name are refused, at the start and later, until one is called otherwise", async () => {
  const first: MeshConfig = { mesh: "m", type: "persistent", agents: ["x/b-a"] };
  const second: MeshConfig = { mesh: "m-b", type: "persistent", agents: ["x/a"] };
  const project = await open({ configs: [first, second], agents: { a: silent, c: silent, "b-a": silent } });
  const file = "meshes/mesh-configs/m-b.json";
  const problem = `${file}: "agents.0": the session of m-b/a would be called m-b-a, and so is that of m/b-a; rename one of them`;
  expect([...project.meshes.problems]).toEqual([[file, problem]]);
  expect([...project.meshes.declared().keys()]).toEqual(["m"]);

  const opened = project.next(({ type }) => type === "mesh.opened");
  project.declare({ ...second, agents: ["x/c"] });
  expect((await opened).data).toMatchObject({ mesh: "m-b", agents: ["c"] });
  const reloaded = project.next(({ type }) => type === "mesh.reloaded");
  project.declare(second);
  expect((await reloaded).data).toEqual({ mesh: "m-b", problem });
  expect(project.meshes.agentsByMesh().get("m-b")).toEqual(["c"]);

  const mended = project.next((fact) => fact.type === "mesh.reloaded" && fact.data.problem === null);
  rmSync(join(project.layout.configs, "m.json"));
  await mended;
  expect(project.meshes.agentsByMesh()).toEqual(new Map([["m-b", ["a"]]]));
});

test("MESHES-1: a changed prompt or capability is seen, holds from the next prompt on, and the next task is for a new member", async () => {
  const project = await open({ configs: [{ ...pair, agents: ["x/a"], capabilities: ["search"] }] });
  project.send("m", "1.md", "# T\n");
  await project.until(isEndOf("m", null, "1.md"));
  const reloaded = project.next(({ type }) => type === "mesh.reloaded");
  project.write("meshes/agents/x/a/prompt.md", "You are {{agent}} of {{mesh}}.\n");
  await reloaded;
  const able = project.next(({ type }) => type === "mesh.reloaded");
  project.write("meshes/capabilities/search.md", "Search well.\n");
  await able;
  project.send("m", "2.md", "# T\n");
  await project.until(isEndOf("m", null, "2.md"));
  expect(project.closed).toEqual(["m/a"]);

  const { declared } = project.meshes.meshes.get("m") ?? {};
  const agent = declared?.agents.get("a");
  if (!declared || !agent) throw new Error("m/a is gone");
  const sections = buildPrompt(declared, agent);
  expect(sections.map(({ title, from }) => [title, from])).toEqual([
    ["Preamble", []],
    ["Agent Prompt", ["meshes/agents/x/a/prompt.md"]],
    ["Capabilities", ["meshes/capabilities/search.md"]],
    ["Workflow", []],
  ]);
  const paths = [];
  for (let time = 0; time < 2; time++) {
    paths.push(
      await keepPrompt(
        project.layout,
        { mesh: "m", agent: "a" },
        promptText(sections),
        new Date(2026, 0, 2, 3, 4).getTime(),
      ),
    );
  }
  expect(paths.map((path) => path.slice(path.indexOf("prompts/")))).toEqual([
    "prompts/2601020304-prompt.md",
    "prompts/2601020304-2-prompt.md",
  ]);
  expect(readFileSync(paths[0] ?? "", "utf8")).toContain("You are a of m.");
});

test("MESHES-4: at a start nothing moves before all are there: what waits for a mesh that opens later arrives, and so do answers", async () => {
  const project = new ScriptedProject({
    configs: [
      { mesh: "a-first", type: "persistent", agents: ["x/asker"] },
      { mesh: "z-last", type: "persistent", agents: ["x/helper"] },
    ],
    agents: {
      asker({ header }, say) {
        if (header.type === "task") say("z-last", "task", "# Help\n", { name: "help.md" });
        else say("mesh", "task-complete", "Helped.\n");
      },
      helper: silent,
    },
  });
  opened.push(project);
  await project.meshes.open();
  project.send("a-first", "t.md", "# T\n");
  await project.until(isTold("helper", "help.0.md"));
  await project.meshes.close();
  project.put(
    { mesh: "a-first", agent: "asker" },
    "outbox",
    "more.md",
    "---\nfrom: a-first/asker\nto: z-last/helper\ntype: ask\n---\nWhat?\n",
  );
  project.put(
    { mesh: "z-last", agent: "helper" },
    "outbox",
    "end.md",
    "---\nfrom: z-last/helper\nto: mesh\ntype: task-complete\n---\nHere.\n",
  );
  // Not so young that it might still be written.
  utimesSync(join(project.layout.queue({ mesh: "a-first", agent: "asker" }, "outbox"), "more.md"), 1, 1);
  utimesSync(join(project.layout.queue({ mesh: "z-last", agent: "helper" }, "outbox"), "end.md"), 1, 1);
  await project.reopen();
  await project.until(isEndOf("a-first"));
  expect(project.facts.filter(({ type }) => type === "mesh.quarantined")).toEqual([]);
  expect(project.told).toContain("helper: ask more.md");
});

test("state.json follows, whole; the seed's operations on files work from outside", async () => {
  const project = await open({ configs: [{ ...pair, agents: ["x/a"] }], agents: { a: silent } });
  const path = Message.send(project.layout, { mesh: "m", agent: null }, "Fix the bug", "Soon.", {
    now: new Date(2026, 0, 2, 3, 4),
  });
  const second = Message.send(project.layout, { mesh: "m", agent: null }, "Fix the bug", "", {
    now: new Date(2026, 0, 2, 3, 4),
  });
  expect([path, second].map((one) => one.slice(one.lastIndexOf("/") + 1))).toEqual([
    "2601020304-0001-fix-the-bug.md",
    "2601020304-0002-fix-the-bug.md",
  ]);
  await project.until(isTold("a", "2601020304-0001-fix-the-bug.0.md"));
  await expect
    .poll(() => readState(project.layout, "m"))
    .toEqual({
      mesh: "m",
      status: "processing",
      current_agent: "a",
      previous_agent: null,
      workflow: ["a"],
      workflow_position: 0,
      workflow_complete: false,
      tasks_completed: 0,
      started_at: "2026-01-02T03:04:05.000Z",
      updated_at: "2026-01-02T03:04:05.000Z",
    });
  const address = { mesh: "m", agent: null };
  expect(Message.getMessages(project.layout, address, "active")).toEqual(["2601020304-0001-fix-the-bug.md"]);
  const message = Message.parseMessage(join(project.layout.queue(address, "active"), "2601020304-0001-fix-the-bug.md"));
  expect(message && "body" in message && message.body).toBe("# Fix the bug\n\nSoon.\n");
  const ended = project.next(isEndOf("m"));
  Message.moveMessage(project.layout, address, "2601020304-0001-fix-the-bug.md", "active", "complete");
  await ended;
});
