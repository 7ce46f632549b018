import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createScrubber } from "../../boundary/scrubber.ts";
import type { Watched } from "../../protocol/index.ts";
import type { Sandbox, ShellCommand } from "../../sandbox/index.ts";
import { coordinatorScope } from "../../store/scope/team-scopes.ts";
import { temporaryHome } from "../../testing/index.ts";
import { looking } from "./agent-views.ts";

const SECRET = "sk-very-secret-0123456789";
const scrubber = createScrubber([{ name: "API_KEY", value: SECRET }]);
const signal = new AbortController().signal;

/** A project that is looked at, with a sandbox that only remembers what it was to run. */
async function projectOf(files: Record<string, string>) {
  const home = await temporaryHome();
  const [agentDir, project] = [join(home.path, "home/agents/agent-test"), join(home.path, "project")];
  await mkdir(join(agentDir, "runs/run-1"), { recursive: true });
  await mkdir(join(project, "docs"), { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(project, name), content);
  const commands: ShellCommand[] = [];
  const run = async (command: ShellCommand) => {
    commands.push(command);
    return { output: `key ${SECRET}\n`, code: 0, timedOut: false };
  };
  const look = looking({
    sandbox: async () => ({ kind: "bubblewrap", run }) as unknown as Sandbox,
    fetching: () => ({}),
    network: () => ({ allow: ["api.example.org"] }),
    scrubber,
  });
  const scope = coordinatorScope({ agentDir, runId: "run-1", project, published: () => undefined });
  const env = { SCRATCH: scope.cwd, RUN: join(agentDir, "runs/run-1"), PROJECT: project };
  return {
    commands,
    env,
    look: (what: Watched) => look(what, { scope, env }, signal),
    [Symbol.asyncDispose]: () => home.remove(),
  };
}

test("what is shown of a file, a folder or a command holds no known secret, also where it is cut", async () => {
  const cut = "x".repeat(64 * 1024 - 10);
  await using project = await projectOf({
    "a.env": `KEY=${SECRET}\n`,
    "long.txt": `${cut}${SECRET}`,
    [`docs/${SECRET}.md`]: "x",
  });
  const texts = [];
  for (const path of ["project/a.env", "project/long.txt", "project/docs"])
    texts.push((await project.look({ path })).text);
  expect(texts[0]).toBe("KEY=[redacted: API_KEY]\n");
  expect(texts[1]).toBe(`${cut}[redacted:`);
  expect(texts[2]).toMatch(/^project\/docs\/\[redacted: API_KEY\]\.md \(1 bytes, /);
  expect((await project.look({ command: "env" })).text).toBe("key [redacted: API_KEY]");
});

test("a file of which only the beginning would be seen is refused, alone and in a folder", async () => {
  const most = 8 * 1024 ** 2;
  await using project = await projectOf({ "all.log": "x".repeat(most), "docs/big.log": "x".repeat(most + 1) });
  expect(await project.look({ path: "project/all.log" })).toMatchObject({ bytes: most });
  for (const path of ["project/docs/big.log", "project/docs"])
    await expect(project.look({ path })).rejects.toThrow(
      "project/docs/big.log is larger than 8 MB: watch a smaller file, or the output of a command.",
    );
});

test("a command has the network and the names of folders that the team's shell has", async () => {
  await using project = await projectOf({});
  await project.look({ command: "curl api.example.org" });
  expect(project.commands).toMatchObject([{ env: project.env, network: { allow: ["api.example.org"] } }]);
});
