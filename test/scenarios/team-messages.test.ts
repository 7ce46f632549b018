import { expect, test } from "vitest";
import { both, call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

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

// Messages

test("a message to somebody who was only just given work is the first thing they read", async () => {
  await using team = await startTeam({
    goal: "Tell",
    coordinator: script(
      both(
        hired("Alice"),
        made("Buy", { worker: "Alice" }),
        call("send_message", { to: "Alice", content: "mind the prices" }),
      ),
      call("finish", { summary: "bought" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        written("a.md", "cheap").after("[Message from Coordinator]: mind the prices"),
        call("publish", { summary: "cheap" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "bought" });
  expect(team.agent.now.letters.settled.map(({ to, reader, status }) => [to, reader, status])).toEqual([
    ["alice", "alice", "seen"],
  ]);
});

test("a message to everyone reaches everyone at work, each once, and not its sender", async () => {
  const { promise: allAreThere, resolve } = Promise.withResolvers<void>();
  const names = ["Alice", "Bob", "Carol"];
  const listener = (name: string) =>
    script(
      call("check_messages", { wait: true }),
      written("a.md", name).after("[Message from Alice]: the price is 80"),
      call("publish", { summary: name }),
    );
  await using team = await startTeam({
    goal: "Tell all",
    coordinator: script(
      both(...names.map((name) => hired(name))),
      both(...names.map((worker) => made(`${worker}'s part`, { worker }))),
      call("finish", { summary: "told" }).after(
        "[Message from Alice]: the price is 80",
        ...names.map((name) => `completed by ${name}`),
      ),
    ),
    workers: {
      Alice: script(
        call("send_message", { to: "*", content: "the price is 80" }).until(allAreThere),
        ...worked("alice"),
      ),
      Bob: listener("Bob"),
      Carol: listener("Carol"),
    },
  });
  const waiting = new Set<string>();
  team.agent.log.subscribe((fact) => {
    if (fact.type !== "worker.waiting") return;
    waiting.add(fact.data.worker_id);
    if (waiting.has("bob") && waiting.has("carol")) resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "told" });
  const received = (await team.facts()).flatMap((fact) => (fact.type === "message.received" ? [fact.data.by] : []));
  expect(received.toSorted()).toEqual(["bob", "carol", "coordinator"]);
});

test("two who only answer each other are stopped after twelve messages", async () => {
  const said = (to: string, number: number) => call("send_message", { to, content: `ping ${number}!` });
  const answer = (to: string, from: string, number: number) =>
    said(to, number).after(`[Message from ${from}]: ping ${number - 1}!`);
  const enough =
    "You and Alice have written to each other 12 times. Decide with what you have, or ask the coordinator.";
  const { promise: bobIsThere, resolve } = Promise.withResolvers<void>();
  const waits = call("check_messages", { wait: true });
  const odd = [3, 5, 7, 9, 11];
  const even = [2, 4, 6, 8, 10, 12];
  await using team = await startTeam({
    goal: "Agree",
    coordinator: script(
      both(hired("Alice"), hired("Bob")),
      both(made("Talk to Bob", { worker: "Alice" }), made("Talk to Alice", { worker: "Bob" })),
      call("finish", { summary: "They talked." }).after("node-1 completed", "node-2 completed"),
    ),
    workers: {
      Alice: script(
        said("Bob", 1).until(bobIsThere),
        ...odd.flatMap((number) => [waits, answer("Bob", "Bob", number)]),
        waits,
        answer("Bob", "Bob", 13),
        ...worked("alice"),
      ),
      Bob: script(...even.flatMap((number) => [waits, answer("Alice", "Alice", number)]), ...worked("bob")),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.waiting" && fact.data.worker_id === "bob") resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "They talked." });
  const hops = (await team.facts()).flatMap((fact) => (fact.type === "message.sent" ? [fact.data.hops] : []));
  expect(hops).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  const last = (await answersTo(team, "alice")).filter(([tool]) => tool === "send_message").at(-1);
  expect(last).toEqual(["send_message", false, enough.replace("Alice", "Bob")]);
});

test("work that waits in a circle is refused with the reason: through what it builds on, and through who would do it", async () => {
  await using team = await startTeam({
    goal: "Circle",
    coordinator: script(
      call("create_work_node", { task: "One" }),
      call("create_work_node", { task: "Two", dependencies: ["node-1"] }),
      call("finish", { summary: "done" }).after("node-1 completed", "node-2 completed"),
    ),
    workers: {
      Alice: script(
        call("check_messages").after("One").until(twoIsThere.promise),
        call("create_work_node", { task: "Part", dependencies: ["node-2"] }),
        call("create_work_node", { task: "Part", worker: "Alice" }).after("node-2 is waiting for this very work"),
        call("write_file", { path: "scratch/a.md", content: "a" }).after("Alice works on node-1, which waits for this"),
        call("publish", { summary: "one" }),
        call("write_file", { path: "scratch/b.md", content: "b" }),
        call("publish", { summary: "two" }),
      ),
    },
  });
  team.agent.log.subscribe(
    (fact) => fact.type === "node.created" && fact.data.node_id === "node-2" && twoIsThere.resolve(),
  );
  if (team.board().length > 1) twoIsThere.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.board().map((node) => node.status)).toEqual(["completed", "completed"]);
});

const twoIsThere = Promise.withResolvers<void>();
