import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runFiles } from "../../src/store/run/results.ts";
import { both, call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const write = (path: string, content: string) => call("write_file", { path, content });
const inRun = (team: TestTeam, path: string) => readFile(join(team.agent.log.dir, "runs/run-1", path), "utf8");
const filesOf = async (team: TestTeam) => {
  const { results, others } = await runFiles(team.agent.now, team.agent.log.dir);
  return { results: results.map(({ path }) => path), others: others.map(({ path }) => path) };
};

describe("what the coordinator writes itself", () => {
  test("is never overwritten: its plan is what the workers read, its report is the output", async () => {
    const alice = script(
      call("read_file", { path: "_plan.md" }),
      write("scratch/a.md", "a").after("# My plan"),
      call("publish", { summary: "done" }),
    );
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(
        both(write("_plan.md", "# My plan\n"), call("create_work_node", { task: "One" })),
        write("_output.md", "# MY POLISHED REPORT\n").after("node-1 completed"),
        call("finish", { summary: "The report is in _output.md." }),
      ),
      workers: { Alice: alice },
    });
    await team.outcome();
    await team.agent.idle();
    expect([await inRun(team, "_plan.md"), await inRun(team, "_output.md")]).toEqual([
      "# My plan\n",
      "# MY POLISHED REPORT\n",
    ]);
    expect(await inRun(team, "_board.md")).toMatch(/^# Board\n\nGoal: Go\n\n.*node-1/s);
    expect(await filesOf(team)).toEqual({
      results: ["_output.md"],
      others: ["nodes/node-1/published/a.md", "_board.md", "_plan.md"],
    });
  });

  test("also when it only changed a word of the derived plan", async () => {
    const wrote = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(
        call("check_board").until(wrote.promise),
        call("create_work_node", { task: "One" }),
        call("finish", { summary: "done" }).after("node-1 completed"),
      ),
      workers: { Alice: script(write("scratch/a.md", "a"), call("publish", { summary: "done" })) },
    });
    await expect.poll(() => inRun(team, "_plan.md").catch(() => "")).toContain("# Plan\n\nGoal: Go\n\n");
    const changed = (await inRun(team, "_plan.md")).replace("# Plan", "# The plan");
    await writeFile(join(team.agent.log.dir, "runs/run-1/_plan.md"), changed);
    wrote.resolve();
    await team.outcome();
    await team.agent.idle();
    expect(await inRun(team, "_plan.md")).toBe(changed);
  });
});

describe("the result", () => {
  test("is what finish names; what is not there is refused with the nearest name", async () => {
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(
        both(
          write("output/report.md", "r"),
          write("output/data/a.csv", "1"),
          write("notes/idea.md", "i"),
          write("changes.diff", "-a\n+b\n"),
        ),
        call("finish", { summary: "done", files: ["output/repotr.md"] }),
        call("finish", { summary: "done", files: ["output/report.md", "changes.diff"] }).after(
          'Not finished: there is no file output/repotr.md in this run. Did you mean "output/report.md"?',
        ),
      ),
    });
    await team.outcome();
    expect(team.agent.now.agent.run?.finished).toEqual({
      kind: "finished",
      summary: "done",
      files: ["output/report.md", "changes.diff"],
    });
    await team.agent.idle();
    expect(await filesOf(team)).toEqual({
      results: ["output/report.md", "changes.diff"],
      others: ["_output.md", "_plan.md", "notes/idea.md", "output/data/a.csv"],
    });
    expect(await inRun(team, "_output.md")).toContain(
      "Outcome: finished\n\ndone\n\n## Results\n\n- output/report.md\n- changes.diff\n",
    );
  });

  test("is what lies in output/ where nobody named any, else what was published, else _output.md", async () => {
    const goOn = [
      call("create_work_node", { task: "One" }),
      call("finish", { summary: "x" }).after("node-1 completed"),
    ];
    const shown: string[][] = [];
    for (const steps of [[write("output/r.md", "r")], []]) {
      await using team = await startTeam({
        goal: "Go",
        coordinator: script(...steps, ...goOn),
        workers: { Alice: script(write("scratch/a.md", "a"), call("publish", { summary: "done" })) },
      });
      await team.outcome();
      await team.agent.idle();
      shown.push((await filesOf(team)).results);
    }
    await using alone = await startTeam({ goal: "Go", coordinator: script(call("finish", { summary: "x" })) });
    await alone.outcome();
    await alone.agent.idle();
    expect([...shown, (await filesOf(alone)).results]).toEqual([
      ["output/r.md"],
      ["nodes/node-1/published/a.md"],
      ["_output.md"],
    ]);
  });
});
