import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openSandbox } from "../../src/sandbox/open-sandbox.ts";
import type { Scope } from "../../src/store/scope/scope.ts";
import { coordinatorScope, workerScope } from "../../src/store/scope/team-scopes.ts";
import { type ScopeTeam, scopeTeam } from "./scope-team.ts";

const sandbox = await openSandbox({});
const confined = test.skipIf(sandbox.kind !== "bubblewrap");

confined("a hidden file that is saved, replaced or made during a command is never readable in it", async () => {
  await using team = await scopeTeam();
  put(team.project, "packages/a/index.ts", "visible");
  put(team.project, "services/deep/in/api/package.json", "{}");
  put(team.project, "services/deep/in/api/.env.example", "SECRET before");
  const secrets = [".env", ".env.local", "packages/a/.env", "services/deep/in/api/.env", "src/.secret/key"];

  const { output } = await during(team, readAll(team, [...secrets, "README.md", "src/main.ts"]), () => {
    for (const path of secrets) savedByRename(team.project, path, `SECRET ${path}`);
  });

  expect(output.split("\n").filter(Boolean).sort()).toEqual(["CANARY project/README.md", "CANARY project/src/main.ts"]);
});

confined("nor is one in the top folder of a project with many names, none of which was hidden before", async () => {
  await using team = await scopeTeam();
  for (const path of [".env", ".git", "src/.secret"]) rmSync(join(team.project, path), { recursive: true });
  for (let at = 0; at < 200; at++) put(team.project, `file-${at}`, "visible");

  const { output } = await during(team, readAll(team, [".env", "file-7"]), () => {
    savedByRename(team.project, ".env", "SECRET");
  });

  expect(output).toBe("visible\n");
});

confined("the same holds for a program that lives on", async () => {
  await using team = await scopeTeam();
  const { cwd, ...binds } = await team.alice.binds();
  const running = await sandbox.start({
    launch: () => ({ argv: ["bash", "-c", `${WAIT}${readAll(team, [".env", ".npmrc", "README.md"])}`], env: {} }),
    cwd,
    binds,
    signal: new AbortController().signal,
  });
  const said: string[] = [];
  running.stdout.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  running.stderr.resume();
  await expect.poll(() => existsSync(join(cwd, "ready"))).toBe(true);
  savedByRename(team.project, ".env", "SECRET");
  savedByRename(team.project, ".npmrc", "SECRET");
  writeFileSync(join(cwd, "go"), "");
  await running.ended;

  expect(said.join("")).toBe("CANARY project/README.md\n");
});

confined("a home inside the project, and a project inside the home, stay hidden", async () => {
  await using team = await scopeTeam();
  const at = { agentDir: team.agentDir, runId: "run-1" as const };
  const token = join(team.base, "home/token");
  const shown = async (scope: Scope, file: string) => {
    const { output } = await run(scope, `cat ${file} 2>/dev/null || echo hidden`);
    return output.trim();
  };
  const around = workerScope({ ...at, nodeId: "node-1", workerId: "alice", project: team.base });
  expect(await shown(around, token)).toBe("hidden");
  expect(await shown(around, join(team.base, "outside.txt"))).toBe("CANARY outside.txt");
  expect(await shown(around, join(team.runDir, "nodes/node-1/scratch/draft.md"))).toMatch("CANARY");
  const inside = coordinatorScope({ ...at, project: join(team.home, "agents") });
  expect(await shown(inside, join(team.home, "agents/agent-other/MEMORY.md"))).toBe("hidden");
});

test("a project of 3,000 folders is shown, and what is left out is named with the reason", async () => {
  await using team = await scopeTeam();
  for (let at = 0; at < 3000; at++)
    mkdirSync(join(team.project, `src/part-${at % 30}/unit-${at}`), { recursive: true });
  for (let at = 0; at < 300; at++) mkdirSync(join(team.project, `node_modules/package-${at}`), { recursive: true });
  put(team.project, "node_modules/.bin/tool", "x");
  const binds = await team.alice.binds();
  const shown = shownIn(binds, team.project);

  expect(shown).toContain("README.md");
  for (let part = 0; part < 30; part++) expect(shown.some((path) => path.startsWith(`src/part-${part}`))).toBe(true);
  expect("omitted" in binds ? binds.omitted : []).toEqual([expect.stringContaining("node_modules")]);
});

/** The folders and files of the project that are bound, as seen from it. */
function shownIn(binds: Awaited<ReturnType<Scope["binds"]>>, project: string): string[] {
  const parts = "laidOut" in binds ? binds.laidOut.flatMap(({ parts }) => parts) : [];
  const hidden = binds.hide.map((path) => path.slice(project.length + 1));
  const whole = binds.read.includes(project) ? ["README.md", "src/part-0"] : [];
  return [...parts.filter(({ kind }) => kind !== "empty").map(({ path }) => path), ...whole].filter(
    (path) => !hidden.some((each) => path === each || path.startsWith(`${each}/`)),
  );
}

function put(root: string, path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

/** As an editor saves. */
function savedByRename(root: string, path: string, content: string): void {
  put(root, `${path}.new~`, content);
  renameSync(join(root, `${path}.new~`), join(root, path));
}

const WAIT = ": > ready; until [ -e go ]; do sleep 0.02; done; ";

function readAll(team: ScopeTeam, paths: readonly string[]): string {
  return `for file in ${paths.map((path) => `'${join(team.project, path)}'`).join(" ")}; do cat "$file" 2>/dev/null && echo; done; true`;
}

/** Runs a command that begins, waits until the change was made, and goes on. */
async function during(team: ScopeTeam, command: string, change: () => void) {
  const done = run(team.alice, `${WAIT}${command}`);
  await expect.poll(() => existsSync(join(team.alice.cwd, "ready"))).toBe(true);
  change();
  writeFileSync(join(team.alice.cwd, "go"), "");
  return done;
}

async function run(scope: Scope, command: string) {
  const { cwd, ...binds } = await scope.binds();
  return sandbox.run({ command, cwd, binds, env: {}, timeoutMs: 20_000, signal: AbortSignal.timeout(20_000) });
}
