import { join } from "node:path";
import { expect, test } from "vitest";
import { openSandbox } from "../../src/sandbox/open-sandbox.ts";
import type { Scope } from "../../src/store/scope/scope.ts";
import { filesOf, type ScopeTeam, scopeTeam } from "./scope-team.ts";

const sandbox = await openSandbox({});
const confined = test.skipIf(sandbox.kind !== "bubblewrap" && sandbox.kind !== "seatbelt");

const RUN = "home/agents/agent-test/runs/run-1/";

confined(
  "a worker's shell sees and changes what its file tools do, but for the plan, which a link could stand for",
  async () => {
    await using team = await scopeTeam();
    const { read, wrote } = await triedInShell(team, team.alice);

    expect(read).toEqual((await readable(team.alice)).filter((file) => file !== `${RUN}_plan.md`));
    expect(wrote).toEqual([
      `${RUN}nodes/node-1/scratch/draft.md`,
      `${RUN}nodes/node-1/scratch/deep/data.jsonl`,
      `${RUN}workers/alice/identity.md`,
      `${RUN}workers/alice/memory.md`,
      `${RUN}workers/alice/notebook.md`,
    ]);
  },
);

confined("the coordinator's shell sees what its file tools do, and changes the run's own files", async () => {
  await using team = await scopeTeam();
  const { read, wrote } = await triedInShell(team, team.coordinator);

  expect(read).toEqual(await readable(team.coordinator));
  expect(wrote).toEqual([`${RUN}_plan.md`, `${RUN}_output.md`, `${RUN}notes/idea.md`]);
});

/** Tries to read, then to write, every file there is. */
async function triedInShell(team: ScopeTeam, scope: Scope): Promise<{ read: string[]; wrote: string[] }> {
  const { cwd, ...binds } = await scope.binds();
  const tries = filesOf().flatMap((file) => {
    const path = `'${join(team.base, file)}'`;
    return [
      `cat ${path} >/dev/null 2>&1 && echo 'read ${file}'`,
      `(echo x >> ${path}) 2>/dev/null && echo 'wrote ${file}'`,
    ];
  });
  const signal = AbortSignal.timeout(20_000);
  // A file outside the binds may be made in the sandbox's own throw-away folders; only what could be read there counts.
  const { output } = await sandbox.run({
    command: `${tries.join("\n")}\ntrue`,
    cwd,
    binds,
    env: {},
    timeoutMs: 20_000,
    signal,
  });
  const after = (word: string) =>
    output
      .split("\n")
      .filter((line) => line.startsWith(word))
      .map((line) => line.slice(word.length));
  const read = after("read ");
  return { read, wrote: after("wrote ").filter((file) => read.includes(file)) };
}

async function readable(scope: Scope): Promise<string[]> {
  const found: string[] = [];
  for (const file of filesOf()) {
    const path = file.startsWith(RUN) ? file.slice(RUN.length) : file.replace("home/agents/agent-test/", "agent/");
    const content = await scope.readFile(path, { maxBytes: 1000 }).catch(() => undefined);
    if (content) found.push(file);
  }
  return found;
}
