import { expect, test as plainTest } from "vitest";
import type { ProgramProfile } from "../../src/protocol/index.ts";
import { World } from "../../src/repository/testing/world.ts";
import {
  call,
  type ProviderRequest,
  type ProviderTurn,
  script,
  startProviderServer,
  startTeam,
} from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { whenInstalled } from "./installed.ts";
import { realPrograms } from "./real-programs.ts";

/*
 * Programs of every kind change files of a repository, each in its clone; a comment on a line is answered by a new
 * commit.
 */

const TASK = "Say hello in main.js.";

/** What its model says, by what it has said before; side questions of the program get a word. */
function mind(turns: (answers: boolean) => readonly ProviderTurn[]) {
  return ({ api, body, tools, messages }: ProviderRequest): ProviderTurn => {
    const text = JSON.stringify(body);
    const isWork = text.includes(TASK) || text.includes("Say it louder.");
    if (!isWork || tools.length === 0)
      return { text: api === "gemini" ? '{"reasoning":"Simple.","model_choice":"flash"}' : "A title" };
    const made = messages.flatMap((each) => (each.role === "assistant" ? each.calls : []));
    return {
      usage: { input: 1000, output: 100 },
      ...(turns(text.includes("Say it louder."))[made.length] ?? { text: "Done." }),
    };
  };
}

const change = (word: string) =>
  `git log --oneline | head -1 && sed -i 's/.*/${word}();/' src/main.js && git status --short`;

interface Tried {
  test: typeof plainTest | typeof plainTest.skip;
  model?: string;
  profile(url: string): ProgramProfile;
  turns(answers: boolean): readonly ProviderTurn[];
}

const PROGRAMS: Record<string, Tried> = {
  ...Object.fromEntries(
    Object.entries(realPrograms).map(([name, { files, model, profile, shell, ours }]) => [
      name,
      {
        test: whenInstalled(...files),
        ...(model && { model }),
        profile: (url: string) => profile(url),
        turns: (answers: boolean) => [
          shell(change(answers ? "HELLO" : "hello")),
          ours("publish", { summary: answers ? "Louder." : "It says hello." }),
        ],
      },
    ]),
  ),
  // It says by its files what it has done, and prints: of that, nothing belongs to the repository.
  plain: {
    test: skipped ? plainTest.skip : plainTest,
    profile: () => ({
      kind: "autonomous",
      command: [
        "bash",
        "-c",
        `echo "TO: coordinator" > _outbox.md; if grep -q louder _task.md; then ${change("HELLO")}; else ${change("hello")}; fi`,
      ],
    }),
    turns: () => [],
  },
};

for (const [name, { test, model, profile, turns }] of Object.entries(PROGRAMS)) {
  test(`${name} changes files in its clone and publishes a commit; a comment on a line is answered by another`, async () => {
    await using world = await World.open();
    await using provider = await startProviderServer({ respond: mind(turns) });
    await using team = await startTeam({
      goal: "Greet",
      project: world.person,
      write: true,
      env: { PATH: process.env.PATH },
      config: { programs: { [name]: profile(provider.url) } },
      // `gemini/…` would be a model of Google's API.
      worker_model: model && name !== "gemini" ? `${name}/${model}` : name,
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
