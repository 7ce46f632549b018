import { expect, test } from "vitest";
import { call, script, startTeam } from "../../src/testing/index.ts";

test("names of the seeds that are not offered are honoured when they are called", async () => {
  const coordinator = script(
    call("check_stage_status", {}),
    call("memory_write", { path: "knowledge/a.md", content: "## A\n\nIt is 4.\n" }),
    call("memory_forget", { path: "knowledge/a.md", what: "It is 4." }).after("Remembered"),
    call("memory_write", { path: "knowledge/a.md", content: "It is 5." }).after("Taken out of"),
    call("memory_write", { path: "knowledge/a.md", content: "", supersedes: "It is 5." }),
    call("conclude", { output: "done" }).after("Taken out of"),
  );
  await using team = await startTeam({ goal: "Go", coordinator });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const offered = coordinator.requests[0]?.tools.map(({ name }) => name) ?? [];
  const unoffered = ["check_stage_status", "conclude", "memory_forget", "decline_insight", "cancel_trigger"];
  expect(unoffered.filter((name) => offered.includes(name))).toEqual([]);
});

test("what `tools` names is offered, also where it would not be by itself", async () => {
  const coordinator = script(call("conclude", { output: "done" }));
  await using team = await startTeam({ goal: "Go", coordinator, tools: ["conclude"] });
  await team.outcome();
  expect(coordinator.requests[0]?.tools.map(({ name }) => name)).toEqual(["finish", "conclude"]);
});
