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

// Stages

const policies = [
  { policy: "all_must_complete", needed: 3 },
  { policy: "majority", needed: 2 },
  { policy: "any", needed: 1 },
] as const;

test.each(policies)("under $policy a stage of three is done with $needed", async ({ policy, needed }) => {
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const names = ["Alice", "Bob", "Carol"];
  const gated = (name: string, at: number) => {
    const [first, ...rest] = worked(name);
    return [first?.until(gates[at]?.promise ?? Promise.resolve()), ...rest].filter((step) => step !== undefined);
  };
  const tries = Array.from({ length: needed }, (_, at) =>
    call("reconvene", { assessment: `with ${at + 1}` }).after(`node-${at + 1} completed`),
  );
  await using team = await startTeam({
    goal: "Agree",
    config: { contract: { checkpoint_policy: policy } },
    coordinator: script(
      both(...names.map((name) => hired(name))),
      both(...names.map((worker) => made(`${worker}'s part`, { worker }))),
      ...tries,
      call("finish", { summary: "agreed" }),
    ),
    workers: Object.fromEntries(names.map((name, at) => [name, script(...gated(name, at))])),
  });
  // One after the other, each when the coordinator has tried with those before.
  gates[0]?.resolve();
  let reconvenes = 0;
  team.agent.log.subscribe((fact) => {
    if (fact.type !== "tool.result" || fact.data.tool !== "reconvene") return;
    reconvenes += 1;
    if (reconvenes < needed) gates[reconvenes]?.resolve();
  });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "agreed" });
  const answers = (await answersTo(team, "coordinator")).filter(([tool]) => tool === "reconvene");
  expect(answers.map(([, ok, content]) => [ok, content.split("\n", 1)[0]])).toEqual([
    ...Array.from({ length: needed - 1 }, () => [false, "Stage 1 is not done."]),
    [true, expect.stringMatching(/^Stage 1 is closed: /)],
  ]);
  expect(team.agent.now.stages.map((stage) => stage.assessment)).toEqual([`with ${needed}`]);
  // Those who have lost are cancelled, whatever they do.
  expect(team.board().map(({ status }) => status)).toEqual(
    [0, 1, 2].map((at) => (at < needed ? "completed" : "cancelled")),
  );
});

test("reconvening before anything was handed out, or before it is back, is refused with how things stand", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const { promise: started, resolve: begin } = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Hurry",
    coordinator: script(
      call("reconvene", { assessment: "Nothing yet." }),
      both(hired("Alice"), made("Work", { worker: "Alice" })),
      call("reconvene", { assessment: "Too early." }).until(started),
      call("reconvene", { assessment: "In time." }).after("node-1 completed"),
      call("finish", { summary: "done" }),
    ),
    workers: {
      Alice: script(written("a.md", "a").until(asked), call("publish", { summary: "all of it" })),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.started") begin();
    if (fact.type === "tool.result" && fact.data.gist === "Stage 1 is not done.") resolve();
  });
  await team.outcome();
  expect((await answersTo(team, "coordinator")).filter(([tool]) => tool === "reconvene")).toEqual([
    ["reconvene", false, "There is no stage to end: nothing was handed out since the last one."],
    [
      "reconvene",
      false,
      "Stage 1 is not done.\nStage 1, Stage 1 (all_must_complete) is not done:\n- node-1 [running] Alice\nWait for the news, or cancel_node what you no longer need.",
    ],
    [
      "reconvene",
      true,
      "Stage 1 is closed: node-1 completed.\nWrite what you learned for good to memory (memory_write). Then create what is next, or finish.",
    ],
  ]);
});

test("there are only so many stages", async () => {
  const role = { name: "Dora", title: "Helper", prompt: "Help." };
  await using team = await startTeam({
    goal: "Go on and on",
    config: { max_stages: 2 },
    coordinator: script(
      made("One"),
      call("reconvene", { assessment: "one" }).after("node-1 completed"),
      made("Two"),
      call("reconvene", { assessment: "two" }).after("node-2 completed"),
      both(made("Three"), call("launch_roles", { name: "Three", roles: [role] })),
      call("finish", { summary: "Two will do." }).after("All 2 stages are used."),
    ),
    workers: { Alice: script(...worked("one"), ...worked("two")) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Two will do." });
  const refusals = (await answersTo(team, "coordinator")).filter(([, ok]) => !ok);
  expect(refusals).toEqual([
    ["create_work_node", false, "Not created: All 2 stages are used. Finish with what there is."],
    ["launch_roles", false, "All 2 stages are used. Finish with what there is."],
  ]);
  expect(team.board().length).toBe(2);
});

test("the next stage has the contract that was agreed when the last one ended", async () => {
  const usual = { max_iterations_per_node: 40, timeout_seconds: 1800, checkpoint_policy: "all_must_complete" };
  await using team = await startTeam({
    goal: "Agree",
    coordinator: script(
      made("One"),
      call("reconvene", { assessment: "Quicker.", contract: { max_iterations_per_node: 2 } }).after("node-1 completed"),
      made("Two"),
      call("finish", { summary: "done" }).after("node-2 completed"),
    ),
    workers: { Alice: script(...worked("one"), ...worked("two")) },
  });
  await team.outcome();
  expect(team.agent.now.stages.map(({ contract, nodes }) => ({ contract, nodes }))).toEqual([
    { contract: usual, nodes: ["node-1"] },
    { contract: { ...usual, max_iterations_per_node: 2 }, nodes: ["node-2"] },
  ]);
});
