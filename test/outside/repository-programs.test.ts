import { expect } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import {
  call,
  type ProviderRequest,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
} from "../../src/testing/index.ts";
import { installed, whenInstalled } from "./installed.ts";
import { acpProfile, ourStep, realAgents, shellStep } from "./real-acp.ts";

/* Real programs change files of a repository, each in its clone; a comment on a line is answered by a new commit. */

const CLAUDE = installed("claude", ".bin/claude");
const TASK = "Say hello in main.js.";

/** What its model says, by what it has said before; side questions of the program get a word. */
function mind(turns: (answers: boolean) => readonly ProviderTurn[]) {
  return (request: ProviderRequest): ProviderTurn => {
    const text = JSON.stringify(request.body);
    const isWork = text.includes(TASK) || text.includes("Say it louder.");
    const hasTools = !("tools" in request.body) || (Array.isArray(request.body.tools) && request.body.tools.length > 0);
    if (!isWork || !hasTools) return { text: "A title" };
    const made = request.messages.flatMap((each) => (each.role === "assistant" ? each.calls : []));
    return {
      usage: { input: 1000, output: 100 },
      ...(turns(text.includes("Say it louder."))[made.length] ?? { text: "Done." }),
    };
  };
}

const PROGRAMS = [
  {
    name: "claude-code",
    model: "claude-code/sonnet",
    test: whenInstalled("claude", ".bin/claude"),
    profile: (url: string) => ({
      kind: "claude_code" as const,
      command: [CLAUDE],
      set: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-ant-test-0000000000000000" },
    }),
    shell: (command: string): ProviderTurn => ({ calls: [{ name: "Bash", args: { command, description: "Do it" } }] }),
    publish: (summary: string): ProviderTurn => ({ calls: [{ name: "mcp__agiraph__publish", args: { summary } }] }),
  },
  {
    name: "codex",
    model: realAgents.codex.model,
    test: whenInstalled(...realAgents.codex.files),
    profile: (url: string) => acpProfile("codex", url, {}),
    shell: (command: string) => shellStep("codex", command),
    publish: (summary: string) => ourStep("codex", "publish", { summary }),
  },
];

for (const { name, model, test, profile, shell, publish } of PROGRAMS) {
  test(`${name} changes files in its clone and publishes a commit; a comment on a line is answered by another`, async () => {
    await using world = await World.open();
    await using provider = await startProviderServer({
      respond: mind((answers) => [
        shell(
          `git log --oneline | head -1 && sed -i 's/.*/${answers ? "HELLO" : "hello"}();/' src/main.js && git status --short`,
        ),
        publish(answers ? "Louder." : "It says hello."),
      ]),
    });
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      env: { PATH: process.env.PATH },
      config: { programs: { [name]: profile(provider.url) } },
      worker_model: name === "claude-code" ? model : name,
      coordinator: script(
        call("create_work_node", { task: TASK, deliverables: ["src/main.js"] }),
        call("finish", { summary: "one" }).after("node-1 completed"),
        call("finish", { summary: "two" }).after("node-2 completed"),
      ),
    });
    await team.agent.idle();
    const { repository } = team.agent.now;
    expect(repository?.nodes["node-1"]).toMatchObject({
      state: "merged",
      commit: { files: 1, insertions: 1, deletions: 1 },
    });

    const { id } = team.agent.log;
    await team.runtime.execute(
      { do: "comment", id, node_id: "node-1", path: "src/main.js", line: 1, text: "Say it louder." },
      { kind: "human", via: "terminal" },
    );
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "two" });

    const answer = team.agent.now.repository?.nodes["node-2"]?.commit?.commit;
    expect(team.agent.now.repository?.nodes["node-1"]?.comments[0]?.answered_by).toBe(answer);
    await team.runtime.execute({ do: "accept", id }, { kind: "human", via: "terminal" });
    expect(world.plain("person", "show", `agiraph/${id}:src/main.js`)).toBe("HELLO();");
  }, 180_000);
}
