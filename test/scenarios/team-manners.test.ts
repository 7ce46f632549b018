import { expect, test } from "vitest";
import { both, call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

/** What people in a team are told, where it is easy to tell them nothing, too much or something untrue. */

const written = (path: string) => call("write_file", { path: `scratch/${path}`, content: path });
const published = (summary: string) => call("publish", { summary });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });

async function answersTo(team: TestTeam, who: string, tool: string): Promise<[boolean, string][]> {
  const file = who === "coordinator" ? "conversation.jsonl" : `runs/run-1/workers/${who}/conversation.jsonl`;
  return (await team.conversation(file)).flatMap((entry) =>
    entry.role === "tool" && entry.tool === tool ? [[entry.ok, entry.content]] : [],
  );
}

test("what ends below somebody just before they publish is told to whoever hears of their end", async () => {
  const bobIsDone = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Hand down",
    coordinator: script(
      made("The whole"),
      call("finish", { summary: "known" }).after("node-1 completed by Alice: a", "- node-2 completed by Bob: b"),
    ),
    workers: {
      Alice: script(both(made("A part"), written("a.md")), published("a").until(bobIsDone.promise)),
      Bob: script(written("b.md"), published("b")),
    },
  });
  team.agent.log.subscribe((fact) => fact.type === "node.completed" && bobIsDone.resolve());
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "known" });
  const ends = (await team.facts()).flatMap((fact) => (fact.type === "node.completed" ? [fact.data] : []));
  expect(ends).toEqual([
    { node_id: "node-2", worker_id: "bob", summary: "b" },
    { node_id: "node-1", worker_id: "alice", summary: "a", unheard: ["node-2"] },
  ]);
});

test("the coordinator is not told to ask the coordinator", async () => {
  const refused = Promise.withResolvers<void>();
  const words = Array.from({ length: 61 }, (_, at) => call("send_message", { to: "Alice", content: `Mind ${at}.` }));
  await using team = await startTeam({
    goal: "Talk",
    coordinator: script(
      call("spawn_worker", { name: "Alice" }),
      both(made("Listen", { worker: "Alice" }), ...words),
      call("finish", { summary: "said" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        written("a.md").until(refused.promise),
        written("a.md").after("Not run: a message came first", "Mind 0."),
        published("heard"),
      ),
    },
  });
  team.agent.log.subscribe((fact) => fact.type === "tool.result" && !fact.data.ok && refused.resolve());
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "said" });
  expect((await answersTo(team, "coordinator", "send_message")).at(-1)).toEqual([
    false,
    "You and Alice have written to each other 60 times. Decide with what you have.",
  ]);
});

test("who stays for the next stage gets the model and the tools that it names", async () => {
  const role = { name: "Alice", title: "Clerk", prompt: "Write." };
  const alice = script(both(written("a.md"), published("one")), both(written("b.md"), published("two")));
  await using team = await startTeam({
    goal: "Stay",
    coordinator: script(
      call("launch_roles", { name: "First", roles: [role] }),
      call("launch_roles", {
        name: "Second",
        roles: [{ ...role, model: "strong/mind", tools: ["write_file"] }],
      }).after("Stage 1 (First) is done."),
      call("finish", { summary: "done" }).after("Stage 2 (Second) is done."),
    ),
    workers: { Alice: alice },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.roster.alice?.spawned).toMatchObject({ model: "strong/mind", tools: ["write_file"] });
  expect(alice.requests.at(-1)?.tools.map((tool) => tool.name)).toEqual([
    "write_file",
    "checkpoint",
    "give_up",
    "publish",
  ]);
  const asked = (await team.facts()).flatMap((fact) =>
    fact.type === "model.called" && fact.data.worker_id === "alice" ? [fact.data.model] : [],
  );
  expect(asked).toEqual(["scripted/worker", "strong/mind"]);
});

test("a summary is a summary: what is longer belongs into a file", async () => {
  await using team = await startTeam({
    goal: "Sum up",
    coordinator: script(made("Sum up"), call("finish", { summary: "short" }).after("node-1 completed by Alice: short")),
    workers: { Alice: script(written("a.md"), published("long ".repeat(1000)), published("short")) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "short" });
  const [refused] = await answersTo(team, "alice", "publish");
  expect(refused).toEqual([false, expect.stringContaining("expected string to have <=4000 characters")]);
});

test("a long board comes page by page", async () => {
  const parts = Array.from({ length: 70 }, (_, at) => made(`Part ${at + 1}`, { inference: "single" }));
  await using team = await startTeam({
    goal: "Look",
    config: { max_turns: 4, max_concurrent: 1 },
    coordinator: script(
      both(...parts),
      both(call("check_board"), call("check_board", { from: 1 }), call("check_board", { from: 61 })),
      call("check_board", { from: 71 }),
      call("list_files"),
    ),
    workers: { Alice: script() },
  });
  await team.agent.idle();
  const pages = (await answersTo(team, "coordinator", "check_board")).map(([, content]) =>
    (content.split("\n\nPeople:")[0] ?? "").split("\n"),
  );
  expect(pages.map((lines) => [lines.length, lines.at(-1)?.replace(/^- (\S+) .*/, "$1")])).toEqual([
    [61, "… 10 more: check_board with from: 1 shows them from the first on."],
    [61, "… 10 more: check_board with from: 61."],
    [10, "node-70"],
    [1, "There is no node-71 or later."],
  ]);
});

test("nobody is hired under a name that is read as somebody else's", async () => {
  const names = ["You", "Agiraph", "Everyone", "Ali\u200Bce", "Zoë"];
  await using team = await startTeam({
    goal: "Hire",
    coordinator: script(
      both(...names.map((name) => call("spawn_worker", { name, identity: "new" }))),
      call("finish", { summary: "hired" }),
    ),
  });
  await team.outcome();
  const answers = await answersTo(team, "coordinator", "spawn_worker");
  expect(answers.map(([ok]) => ok)).toEqual([false, false, false, false, true]);
  expect(answers[0]?.[1]).toBe("Not hired: You would be read as somebody else. Choose another name.");
});

test("whoever was hired under such a name before it was refused has work in the next stage too", async () => {
  const { promise: hired, resolve: go } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Stay",
    coordinator: script(
      call("launch_roles", { name: "First", roles: [{ name: "You", title: "Clerk", prompt: "Write." }] }).until(hired),
      call("finish", { summary: "done" }).after("Stage 1 (First) is done."),
    ),
    workers: { You: script(both(written("a.md"), published("one"))) },
  });
  const worker = { worker_id: "you", name: "You", kind: "harnessed", model: "scripted/worker" } as const;
  const data = { run_id: team.agent.now.agent.run?.id ?? "run-1", ...worker };
  await team.agent.log.append({ facts: [{ type: "worker.spawned", data }] }).durable;
  go();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

const CALLS_OF_LEAD = (team: TestTeam) => team.agent.now.spending.by_worker.coordinator?.calls;

test("who waits for all in the reply that hands the work out is asked once more, when all of it is done", async () => {
  const first = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Two parts",
    coordinator: script(
      both(made("One"), made("Two"), call("check_messages", { wait: true, all: true })),
      call("finish", { summary: "both" }).after("node-1 completed", "node-2 completed"),
    ),
    workers: {
      Alice: script(both(written("a.md"), published("a"))),
      Bob: script(both(written("b.md"), published("b")).until(first.promise)),
    },
  });
  team.agent.log.subscribe((fact) => fact.type === "node.completed" && first.resolve());
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  expect(CALLS_OF_LEAD(team)).toBe(2);
});

test("who waits for all is woken by a colleague who writes, and not by a result", async () => {
  const first = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Two parts",
    coordinator: script(
      both(made("One"), made("Two"), call("check_messages", { wait: true, all: true })),
      both(
        call("send_message", { to: "Bob", content: "The second." }),
        call("check_messages", { wait: true, all: true }),
      ).after("node-1 completed", "Message from Bob]: Which?"),
      call("finish", { summary: "both" }).after("node-2 completed"),
    ),
    workers: {
      Alice: script(both(written("a.md"), published("a"))),
      Bob: script(
        call("send_message", { to: "coordinator", content: "Which?" }).until(first.promise),
        both(written("b.md"), published("b")).after("The second."),
      ),
    },
  });
  team.agent.log.subscribe((fact) => fact.type === "node.completed" && first.resolve());
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  expect(CALLS_OF_LEAD(team)).toBe(3);
});
