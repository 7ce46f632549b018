import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { both, call, script, startTeam, temporaryHome } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";

describe.skipIf(skipped)(`paths in bash ${skipped}`, () => {
  test("the coordinator's paths mean the same to bash and to the file tools, from the first command on", async () => {
    await using site = await temporaryHome();
    const project = site.path;
    await mkdir(join(project, "src"), { recursive: true });
    await writeFile(join(project, "src/a.txt"), "of the project\n");
    await writeFile(join(project, ".env"), "SECRET=1\n");
    const coordinator = script(
      call("write_file", { path: "agent/memory/fact.md", content: "of the memory\n" }),
      call("bash", { command: "cat project/src/a.txt agent/memory/fact.md > output/both.txt" }),
      call("bash", { command: "ls -A project; ls agent/runs/run-1/output" }).after("(no output)"),
      call("bash", { command: "touch agent/memory/new.md project/new.txt" }).after("src\nboth.txt"),
      call("read_file", { path: "output/both.txt" }).after(
        "touch: cannot touch 'agent/memory/new.md': Read-only file system",
        "touch: cannot touch 'project/new.txt': Read-only file system",
      ),
      call("finish", { summary: "done" }).after("1\tof the project\n2\tof the memory"),
    );
    await using team = await startTeam({ goal: "Collect", coordinator, project });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    const run = join(team.agent.log.dir, "runs/run-1");
    expect(await readFile(join(run, "output/both.txt"), "utf8")).toBe("of the project\nof the memory\n");
  });

  test("a copy of what was published can be changed as bash says, and by write_file at once", async () => {
    const coordinator = script(
      call("create_work_node", { task: "Write it." }),
      call("bash", {
        command: "for to in a b; do cp nodes/node-1/published/a.md output/$to.md; done; echo more >> output/a.md",
      }).after("node-1 completed"),
      both(
        call("bash", { command: "chmod u+w output/a.md && echo more >> output/a.md && cat output/a.md" }),
        call("write_file", { path: "output/b.md", content: "new" }),
        call("bash", { command: "echo er >> output/b.md && cat output/b.md nodes/node-1/published/a.md" }),
      ).after("output/a.md: Permission denied", "chmod u+w makes the copy writable."),
      call("finish", { summary: "done" }).after("80more", "newer\n80"),
    );
    const wrote = call("write_file", { path: "scratch/a.md", content: "80" });
    const workers = { Alice: script(both(wrote, call("publish", { summary: "80" }))) };
    await using team = await startTeam({ goal: "Collect", coordinator, workers });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });

  test("a command cannot remove what agent/ leads to", async () => {
    const coordinator = script(
      call("bash", { command: "ls agent/GOAL.md && rm -rf agent; ls agent/GOAL.md" }),
      call("finish", { summary: "done" }).after("agent/GOAL.md\nrm: cannot remove", "Read-only file system"),
    );
    await using team = await startTeam({ goal: "Collect", coordinator });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(await readFile(join(team.agent.log.dir, "GOAL.md"), "utf8")).toBe("Collect\n");
  });
});
