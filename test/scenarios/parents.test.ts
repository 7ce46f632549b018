import { expect, test } from "vitest";
import { both, call, script, startTeam } from "../../src/testing/index.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });

test("who handed work out does not publish before it has ended, unless it says that others are to have the results", async () => {
  const { promise: parentIsDone, resolve: itIs } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Hurry on",
    coordinator: script(
      made("The whole"),
      call("finish", { summary: "done" }).after("node-1 completed by Alice", "node-2 completed by Bob"),
    ),
    workers: {
      Alice: script(
        both(made("A part"), written("a.md", "a")),
        call("publish", { summary: "a" }),
        call("publish", { summary: "a", leave: true }).after(
          "Not published: node-2, which you handed out, still runs. Say nothing and wait for it, or publish with leave: true; its result then reaches the worker or coordinator above you.",
        ),
      ),
      Bob: script(written("b.md", "b").until(parentIsDone), call("publish", { summary: "b" })),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.completed" && fact.data.node_id === "node-1") itIs();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("what somebody left behind reports to the next above who is still at work, who waits for it", async () => {
  const { promise: bobIsDone, resolve: heIs } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Hand it down twice",
    coordinator: script(
      ...["Alice", "Bob", "Carol"].map((name) => call("spawn_worker", { name })),
      made("The whole", { worker: "Alice" }),
      call("finish", { summary: "done" }).after("node-1 completed by Alice"),
    ),
    workers: {
      Alice: script(
        made("A part", { worker: "Bob" }),
        both(written("a.md", "a"), call("publish", { summary: "a" })).after("node-2 completed by Bob"),
        call("publish", { summary: "a" }).after(
          "node-3, which you handed out, still runs",
          "node-3 completed by Carol",
        ),
      ),
      Bob: script(
        both(made("A piece", { worker: "Carol" }), written("b.md", "b")),
        call("publish", { summary: "b", leave: true }),
      ),
      Carol: script(written("c.md", "c").until(bobIsDone), call("publish", { summary: "c" })),
    },
  });
  team.agent.log.subscribe((fact) => {
    const isAlices = fact.type === "tool.result" && fact.data.worker_id === "alice" && fact.data.tool === "publish";
    if (isAlices && !fact.data.ok) heIs();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const heard = (await team.conversation()).flatMap((entry) => (entry.role === "user" ? entry.content : []));
  expect(heard.join("\n").match(/node-\d+ completed/g)).toEqual(["node-1 completed"]);
});
