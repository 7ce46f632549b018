import { expect, test } from "vitest";
import { call, script, startTeam } from "../../src/testing/index.ts";

test("workers may be called like what every object inherits, and no question is found under such a name", async () => {
  const names = ["constructor", "toString", "hasOwnProperty"];
  const works = () =>
    script(call("write_file", { path: "scratch/a.md", content: "a" }), call("publish", { summary: "a" }));
  await using team = await startTeam({
    goal: "Work",
    coordinator: script(
      ...names.map((name) => call("spawn_worker", { name })),
      ...names.map((worker) => call("create_work_node", { task: `${worker}'s part`, worker })),
      call("finish", { summary: "done" }).after(...names.map((_, at) => `node-${at + 1} completed`)),
    ),
    workers: Object.fromEntries(names.map((name) => [name, works()])),
  });
  for (const name of [...names, "__proto__"])
    await expect(team.agent.respond("yes", name, "web")).rejects.toThrow(`There is no question "${name}"`);

  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.board().map(({ status }) => status)).toEqual(names.map(() => "completed"));
});
