import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, script, startTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

describe.skipIf(skipped)(`commands in the background ${skipped}`, () => {
  test("a worker goes on while its command runs, is told when it ends, and publishes what nobody writes to any more", async () => {
    const worker = script(
      call("bash", { command: "echo built > built.txt; echo 3 warnings; exit 4", background: true }),
      call("check_messages", { wait: true }).after("runs in the background"),
      call("bash", { command: "while :; do echo x >> log.txt; done", background: true }).after(
        " (echo built > built.txt; echo 3 warnings; exit 4) ended with exit code 4. It printed:\n3 warnings",
      ),
      call("bash", { command: "until [ -s log.txt ]; do :; done" }).after("runs in the background"),
      call("publish", { summary: "Built." }),
    );
    await using team = await startTeam({
      goal: "Build it",
      coordinator: script(
        call("create_work_node", { task: "Build", deliverables: ["built.txt"] }),
        call("finish", { summary: "done" }).after("node-1 completed"),
      ),
      workers: { Alice: worker },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    const facts = await team.facts();
    const processes = facts.flatMap(({ type, data }) => (type.startsWith("process.") ? [{ type, ...data }] : []));
    const ended = facts.findLastIndex(({ type }) => type === "process.exited");
    expect(processes.filter(({ type }) => type === "process.started").length).toBe(3);
    expect(processes.filter(({ type }) => type === "process.exited").length).toBe(3);
    expect(ended).toBeLessThan(facts.findIndex(({ type }) => type === "node.published"));
    const published = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published");
    expect(await readFile(join(published, "built.txt"), "utf8")).toBe("built\n");
  });
});
