import { expect, test } from "vitest";
import { createCatalog } from "../../src/models/catalog/catalog.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { both, call, script, startTeam, type TestTeam, temporaryHome } from "../../src/testing/index.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const hired = (name: string, more: object = {}) => call("spawn_worker", { name, ...more });
const worked = (name: string) => [written(`${name}.md`, name), call("publish", { summary: name })];

/** What the tools answered somebody. */
async function answersTo(team: TestTeam, who: string): Promise<[string, boolean, string][]> {
  const file = who === "coordinator" ? "conversation.jsonl" : `runs/run-1/workers/${who}/conversation.jsonl`;
  return (await team.conversation(file)).flatMap((entry) =>
    entry.role === "tool" ? [[entry.tool, entry.ok, entry.content]] : [],
  );
}

// People

test("a worker takes what it learned, and nothing else, from node to node", async () => {
  const alice = script(
    call("write_file", { path: "notebook.md", content: "Ask Bob about heat." }),
    written("a.md", "80"),
    call("publish", { summary: "A: 80", learned: "Chips are fast." }),
    ...worked("b"),
  );
  await using team = await startTeam({
    goal: "Measure",
    coordinator: script(
      made("Measure chip A"),
      made("Measure chip B").after("node-1 completed"),
      call("finish", { summary: "done" }).after("node-2 completed by Alice"),
    ),
    workers: { Alice: alice },
  });
  await team.outcome();
  const second = alice.requests.find(({ history }) => JSON.stringify(history[0]).includes("Measure chip B"));
  const sections = second?.system.split("\n\n---\n\n") ?? [];
  expect(sections.slice(0, 3)).toEqual([
    "You are Alice. A capable generalist.\n",
    "# Your memory (from past work)\n\n## node-1: Measure chip A\n\nChips are fast.\n",
    "# Your notebook\n\nAsk Bob about heat.",
  ]);
  // The words of the first node are not said again: what was worth keeping is in the memory.
  expect(second?.history.length).toBe(1);
});

test("a worker is hired with the tools, the memory and the identity it should have", async () => {
  const mary = script(call("bash", { command: "ls" }), ...worked("mary"));
  await using team = await startTeam({
    goal: "Be careful",
    coordinator: script(
      hired("Mary Jane", {
        identity: "A careful clerk.",
        tools: ["write_file", "read_file"],
        memory: "The client is called Zed.",
      }),
      made("File it", { worker: "Mary Jane" }),
      call("finish", { summary: "filed" }).after("node-1 completed by Mary Jane"),
    ),
    workers: { "Mary Jane": mary },
  });
  await team.outcome();
  const [first] = mary.requests;
  expect(first?.tools.map((tool) => tool.name)).toEqual([
    "read_file",
    "write_file",
    "checkpoint",
    "give_up",
    "publish",
  ]);
  expect(first?.system.split("\n\n---\n\n").slice(0, 2)).toEqual([
    "You are Mary Jane. A careful clerk.\n",
    "# Your memory (from past work)\n\nThe client is called Zed.\n",
  ]);
  expect((await answersTo(team, "mary-jane"))[0]).toEqual([
    "bash",
    false,
    'There is no tool "bash". You have: read_file, write_file, checkpoint, give_up, publish.',
  ]);
});

test("between stages one is let go and one is given a new brief; the first is never asked again", async () => {
  const alice = script(...worked("a"), ...worked("c"));
  await using team = await startTeam({
    goal: "Change",
    coordinator: script(
      both(hired("Alice", { identity: "A researcher." }), hired("Bob", { identity: "A researcher." })),
      both(made("Part A", { worker: "Alice" }), made("Part B", { worker: "Bob" })),
      call("reconvene", {
        assessment: "Now write.",
        retire: ["Bob"],
        briefs: { Alice: "An editor who writes short sentences." },
      }).after("node-1 completed", "node-2 completed"),
      both(made("Part C", { worker: "Alice" }), made("Part D")).after("Stage 1 is closed"),
      call("assign_worker", { node_id: "node-4", worker_id: "Bob" }),
      call("finish", { summary: "changed" }).after("node-3 completed by Alice", "node-4 completed by Carol"),
    ),
    workers: { Alice: alice, Bob: script(...worked("b")), Carol: script(...worked("d")) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "changed" });
  expect(alice.requests[0]?.system).toMatch(/^You are Alice\. A researcher\.\n/);
  expect(alice.requests.at(-1)?.system).toMatch(/^You are Alice\. An editor who writes short sentences\.\n/);
  expect(Object.values(team.agent.now.roster).map(({ id, status }) => [id, status])).toEqual([
    ["coordinator", "idle"],
    ["alice", "idle"],
    ["bob", "retired"],
    ["carol", "idle"],
  ]);
});

test("who is let go while still at work finishes it and stays gone; who has work waiting cannot be let go", async () => {
  const { promise: bobIsRetired, resolve: heIs } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Part ways",
    config: { contract: { checkpoint_policy: "any" } },
    coordinator: script(
      both(hired("Alice"), hired("Bob")),
      made("Alice's part", { worker: "Alice" }),
      // After the contract was met: what is made now has not lost.
      both(made("Bob's part", { worker: "Bob" }), made("Bob's next part", { worker: "Bob" })).after("node-1 completed"),
      call("reconvene", { assessment: "Enough.", retire: ["Bob"] }),
      call("assign_worker", { node_id: "node-3", worker_id: "Alice" }).after(
        "node-3 waits for Bob. Give it to somebody else first (assign_worker).",
      ),
      call("reconvene", { assessment: "Enough.", retire: ["Bob"] }),
      call("finish", { summary: "parted" }).after("node-2 completed by Bob", "node-3 completed by Alice"),
    ),
    workers: {
      Alice: script(...worked("a"), ...worked("c")),
      Bob: script(written("b.md", "b").until(bobIsRetired), call("publish", { summary: "b" })),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.retired") heIs();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "parted" });
  expect(team.agent.now.roster.bob?.status).toBe("retired");
});

const refusals = [
  {
    what: "a name that is taken",
    order: hired("alice"),
    answer: "Not hired: alice is taken; names are unique in a run.",
  },
  { what: "the coordinator's name", order: hired("Coordinator"), answer: "Not hired: Coordinator is taken." },
  { what: "the human's name", order: hired("Human"), answer: "Not hired: Human is taken." },
  {
    what: "assigning a node that is not there",
    order: call("assign_worker", { node_id: "node-9", worker_id: "Alice" }),
    answer: 'There is no node "node-9".\nThe board is empty.',
  },
  {
    what: "a message to nobody",
    order: call("send_message", { to: "Zoe", content: "hello" }),
    answer: 'There is nobody named "Zoe". Choose from: Alice, coordinator.',
  },
  {
    what: "a message to oneself",
    order: call("send_message", { to: "coordinator", content: "hello" }),
    answer: "That is you.",
  },
  {
    what: "a message to somebody who has no work, from the one who would read it in their place",
    order: call("send_message", { to: "Alice", content: "hello" }),
    answer: "Alice has no work now. Put it into the task you give them.",
  },
  {
    what: "a message to everyone when nobody is there",
    order: call("send_message", { to: "*", content: "hello" }),
    answer: "Nobody else is at work: nobody would read it.",
  },
  {
    what: "two roles of one name",
    order: call("launch_roles", {
      name: "Twice",
      roles: [
        { name: "Dora", title: "One", prompt: "p" },
        { name: "dora", title: "Two", prompt: "p" },
      ],
    }),
    answer: "Two roles are named dora; names are unique in a run.",
  },
];

test.each(refusals)("$what is refused with the reason, and nothing changes", async ({ order, answer }) => {
  await using team = await startTeam({
    goal: "Refuse",
    coordinator: script(hired("Alice"), order, call("finish", { summary: "done" })),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect((await answersTo(team, "coordinator"))[1]).toEqual([expect.any(String), false, answer]);
  const { board, stages, letters, roster } = team.agent.now;
  expect([board.nodes, stages, letters.sent, Object.keys(roster)]).toEqual([{}, [], 0, ["coordinator", "alice"]]);
});

test("a waiting node may be given to a certain worker", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const { promise: started, resolve: begin } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Assign",
    coordinator: script(
      both(hired("Alice"), hired("Bob")),
      both(made("First", { worker: "Alice" }), made("Second", { dependencies: ["node-1"] })),
      both(
        call("assign_worker", { node_id: "node-2", worker_id: "Zoe" }),
        call("assign_worker", { node_id: "node-2", worker_id: "Bob" }),
      ).until(started),
      call("finish", { summary: "assigned" }).after("node-2 completed by Bob"),
    ),
    workers: {
      Alice: script(written("a.md", "a").until(asked), call("publish", { summary: "a" })),
      Bob: script(...worked("b")),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.started") begin();
    if (fact.type === "node.reserved" && fact.data.node_id === "node-2") resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "assigned" });
  expect((await answersTo(team, "coordinator")).filter(([tool]) => tool === "assign_worker")).toEqual([
    ["assign_worker", false, 'There is nobody named "Zoe". Choose from: Alice, Bob, coordinator.'],
    ["assign_worker", true, "node-2 is Bob's, who begins when node-1 is completed."],
  ]);
});

test("a model or a tool that nobody has here is refused when somebody is to be hired with it", async () => {
  await using home = await temporaryHome();
  const real = createCatalog({ env: {}, config: {}, sleep: async () => {}, now: Date.now, random: Math.random });
  const coordinator = script(
    hired("Alice", { model: "nowhere/at-all" }),
    hired("Bob", { model: "anthropic/claude-sonnet-4-5" }),
    hired("Dora", { tools: ["websearch"] }),
    call("launch_roles", {
      name: "Work",
      roles: [{ name: "Carol", title: "Worker", prompt: "Work.", model: "nowhere/at-all" }],
    }),
    call("launch_roles", {
      name: "Work",
      roles: [{ name: "Carol", title: "Worker", prompt: "Work.", tools: ["read_file", "readfile"] }],
    }),
    call("finish", { summary: "Nobody came." }),
  );
  const catalog = { ...real, model: async () => coordinator };
  const runtime = await openRuntime({ home: home.path, env: {}, config: {} }, { catalog });
  // A name that leads somewhere without a key; behind it the script thinks.
  const agent = await runtime.create({ goal: "Hire", model: "demo/surveyor" });
  await agent.idle();
  const entries = await agent.log.conversation("conversation.jsonl");
  const answers = entries.flatMap((entry) => (entry.role === "tool" && !entry.ok ? [entry.content] : []));
  expect(answers.map((content) => content.replace(/(no model [^.]*|needs a key|mean .*\?).*/s, "$1 …"))).toEqual([
    "Not hired: There is no model nowhere/at-all …",
    "Not hired: anthropic/claude-sonnet-4-5 needs a key …",
    'Not hired: There is no tool "websearch". Did you mean "web_search"? …',
    "Not launched: There is no model nowhere/at-all …",
    'Not launched: There is no tool "readfile". Did you mean "read_file"? …',
  ]);
  expect(Object.keys(agent.now.roster)).toEqual(["coordinator"]);
  await runtime.close();
});

test("people may be called by names in any script", async () => {
  await using team = await startTeam({
    goal: "Work together",
    coordinator: script(
      both(hired("李明"), hired("Мария"), hired("Zoë")),
      both(...["李明", "Мария", "Zoë"].map((worker) => made(`${worker}'s part`, { worker }))),
      call("finish", { summary: "together" }).after(
        "node-1 completed by 李明",
        "node-2 completed by Мария",
        "node-3 completed by Zoë",
      ),
    ),
    workers: Object.fromEntries(["李明", "Мария", "Zoë"].map((name) => [name, script(...worked("a"))])),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "together" });
});
