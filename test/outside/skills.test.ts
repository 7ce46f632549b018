import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import {
  call,
  type ProviderRequest,
  script,
  startProviderServer,
  startTeam,
  temporaryHome,
} from "../../src/testing/index.ts";
import { whenInstalled } from "./installed.ts";
import { realPrograms } from "./real-programs.ts";

/* The real programs tell their models about the skills of the project, and can read them. */

for (const [name, program] of Object.entries(realPrograms)) {
  whenInstalled(...program.files)(`the model of ${name} is told of the skills of the project`, async () => {
    await using project = await temporaryHome();
    const skill = join(project.path, ".claude/skills/painting");
    await mkdir(skill, { recursive: true });
    const about = "---\nname: painting\ndescription: Which colours walls have in Lisbon.\n---\n";
    await writeFile(join(skill, "SKILL.md"), `${about}Read colours.md.\n`);
    await writeFile(join(skill, "colours.md"), "Ochre.\n");
    const asked: ProviderRequest[] = [];
    const place = name === "claude-code" ? ".claude" : ".agents";
    const turns = [
      program.shell(`cat ~/${place}/skills/painting/colours.md > a.md`),
      program.ours("publish", { summary: "It is written." }),
    ];
    await using provider = await startProviderServer({
      respond: (request) => {
        if (!JSON.stringify(request.body).includes("Write it down.")) return { text: "A title" };
        asked.push(request);
        const made = request.messages.flatMap((each) => (each.role === "assistant" ? each.calls : []));
        return turns[made.length] ?? { text: "Done." };
      },
    });
    await using team = await startTeam({
      goal: "g",
      coordinator: script(
        call("spawn_worker", { name: "Cody", program: name, ...(program.model && { model: program.model }) }),
        call("create_work_node", { task: "Write it down.", worker: "Cody" }),
        call("finish", { summary: "done" }).after("node-1 completed"),
      ),
      project: project.path,
      env: { PATH: process.env.PATH },
      config: { programs: { [name]: program.profile(provider.url) } },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    expect(JSON.stringify(asked.map(({ body }) => body))).toContain("Which colours walls have in Lisbon.");
    const published = join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/a.md");
    expect(await readFile(published, "utf8")).toBe("Ochre.\n");
  });
}
