import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, say, script, startTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

describe.skipIf(skipped)(`commands in the background ${skipped}`, () => {
  test("a worker goes on while its command runs, is told when it ends, and publishes what nobody writes to any more", async () => {
    const worker = script(
      call("bash", { command: "echo built > built.txt; echo 3 warnings; exit 4", background: true }),
      call("check_messages", { wait: true }).after("runs in the background"),
      call("bash", { command: "until [ -e stop ]; do echo x >> log.txt; done", background: true }).after(
        " (echo built > built.txt; echo 3 warnings; exit 4) ended with exit code 4. It printed:\n3 warnings",
      ),
      call("bash", { command: "until [ -s log.txt ]; do :; done" }).after("runs in the background"),
      call("publish", { summary: "Half." }),
      call("write_file", { path: "scratch/stop", content: "" }).after(
        "(until [ -e stop ]; do echo x >> log.txt; done) still runs in the background. Wait for it with bash_output",
      ),
      call("check_messages", { wait: true }),
      call("publish", { summary: "Built." }).after("log.txt; done) ended with exit code 0"),
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

  test("a coordinator does not finish while its command runs: it is told what runs, and woken by its end", async () => {
    const coordinator = script(
      call("bash", { command: "until [ -e notes/go ]; do :; done; echo all > output/index.txt", background: true }),
      call("finish", { summary: "Half." }).after("runs in the background"),
      call("write_file", { path: "notes/go", content: "" }).after(
        "Not finished: bg-",
        "output/index.txt) still runs in the background. Wait for it with bash_output (wait), or end what you do not need",
      ),
      call("check_messages", { wait: true }),
      call("finish", { summary: "Whole.", files: ["output/index.txt"] }).after("ended with exit code 0"),
    );
    await using team = await startTeam({ goal: "Make an index", coordinator });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "Whole." });
    expect(await readFile(join(team.agent.log.dir, "runs/run-1/output/index.txt"), "utf8")).toBe("all\n");
  });

  test("a coordinator that ends with its words alone is asked first about what runs", async () => {
    const coordinator = script(
      call("bash", { command: "until [ -e notes/go ]; do :; done", background: true }),
      say("It is made."),
      call("write_file", { path: "notes/go", content: "" }).after("You called no tool and bg-", "still runs"),
      call("check_messages", { wait: true, all: true }),
      call("finish", { summary: "Whole." }).after("ended with exit code 0"),
    );
    await using team = await startTeam({ goal: "Make an index", coordinator });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "Whole." });
  });
});
