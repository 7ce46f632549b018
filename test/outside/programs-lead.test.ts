import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { call, type ProviderTurn, script, startProviderServer, startTeam } from "../../src/testing/index.ts";
import { whenInstalled } from "./installed.ts";
import { acpProfile, ourStep, realAgents, shellStep } from "./real-acp.ts";

/* The real ACP agents lead a team, in the real sandbox, chosen by name alone. For Claude Code: claude-lead.test.ts. */

for (const name of ["codex", "gemini", "opencode"] as const) {
  const test = whenInstalled(...realAgents[name].files);

  test(`${name} leads: it hands out work, waits, is told of its end and finishes, and its session goes on`, async () => {
    const plan: ProviderTurn[] = [
      ourStep(name, "create_work_node", { task: "Say a colour.", deliverables: ["a.md"], worker: "Ann" }),
      { text: "I wait for Ann." },
      shellStep(name, "cat ../runs/run-1/nodes/node-1/published/a.md > seen.md"),
      ourStep(name, "finish", { summary: "It is red.", learned: "" }),
    ];
    const asked: string[] = [];
    await using provider = await startProviderServer({
      respond: ({ api, body, messages, tools }) => {
        const said = JSON.stringify(body);
        // Gemini CLI asks first which model it is to ask, and again after any other answer, for minutes.
        if (api === "gemini" && tools.length === 0)
          return { text: '{"reasoning":"It is simple.","model_choice":"flash"}' };
        if (!said.includes("Which colour is it?")) return { text: "A title" };
        asked.push(said);
        // A call that was cut off by the end of the run is not in the session of every program.
        if (said.includes("And now?")) return ourStep(name, "finish", { summary: "Still red.", learned: "" });
        const replies = messages.filter(({ role }) => role === "assistant").length;
        return plan[replies] ?? { text: "Done." };
      },
    });
    await using team = await startTeam({
      goal: "Which colour is it?",
      coordinator: script(),
      model: name === "gemini" ? "gemini" : `${name}/${realAgents[name].model}`,
      workers: {
        Ann: script(
          call("write_file", { path: "scratch/a.md", content: "red\n" }),
          call("publish", { summary: "Red." }),
        ),
      },
      env: { PATH: process.env.PATH },
      config: { programs: { [name]: acpProfile(name, provider.url) } },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "It is red." });
    expect(await readFile(join(team.agent.log.dir, "scratch/seen.md"), "utf8")).toBe("red\n");
    expect(team.agent.now.roster.coordinator?.spawned).toMatchObject({ kind: "acp", program: name });
    await team.agent.send("And now?");
    await team.until(({ agent }) => agent.run?.id === "run-2" && agent.run.finished !== null);
    await team.agent.idle();
    expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Still red." });
    expect(asked.at(-1)).toContain("I wait for Ann.");
  }, 240_000);
}
