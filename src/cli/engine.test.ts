import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Postgres, withoutPostgres } from "../engine/testing/postgres.ts";
import type { AgentId, Fact } from "../protocol/index.ts";
import { call, script, startTeam, temporaryHome } from "../testing/index.ts";

const MAIN = join(import.meta.dirname, "../../dist/bundle/main.js");

/** A home in which a team has worked and published; nobody works there any more. */
async function workedHome(home: string): Promise<{ id: AgentId; facts: Fact[] }> {
  await using team = await startTeam({
    home,
    goal: "Measure chip A",
    coordinator: script(
      call("create_work_node", { task: "Measure chip A", deliverables: ["a.md"] }),
      call("finish", { summary: "A: 80" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/a.md", content: "80\n" }),
        call("publish", { summary: "A: 80" }),
      ),
    },
  });

  await team.outcome();
  return { id: team.agent.log.id, facts: await team.facts() };
}

describe.skipIf(withoutPostgres)(`agiraph engine ${withoutPostgres}`, () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });
  const env = (schema: string) => ({ args: ["--schema", schema], env: { AGIRAPH_ENGINE: postgres.url() } });

  test("a home goes into an engine and comes out again; the copy opens with files alone, with every fact", async () => {
    await using folder = await temporaryHome();
    const home = join(folder.path, "home");
    const { id, facts } = await workedHome(home);
    const out = join(folder.path, "copy");
    const { args, env: vars } = env("moved");
    writeFileSync(join(home, ".env"), "ANTHROPIC_API_KEY=sk-ant-secret\n", { mode: 0o600 });
    const checked = await agiraph(["engine", "check", ...args], vars);
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining("✓ tables       None yet") });
    const imported = await agiraph(["engine", "import", "--home", home, ...args], vars);
    expect(imported).toMatchObject({ code: 0, stderr: expect.stringContaining(`1 of 1: agents/${id} (`) });
    expect(imported.stderr).toContain("Imported and compared");
    const again = await agiraph(["engine", "import", "--home", home, ...args], vars);
    expect(again.stderr).toContain("0 B sent");

    const exported = await agiraph(["engine", "export", out, "--home", home, ...args], vars);
    expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining("Exported and compared") });

    const shown = await agiraph(["show", id, "--home", out]);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("A: 80") });
    const log = readFileSync(join(out, "agents", id, "events.jsonl"), "utf8")
      .trim()
      .split("\n");
    expect(log.map((line) => JSON.parse(line).seq)).toEqual(facts.map(({ seq }) => seq));
    expect(readdirSync(out)).not.toContain(".env");
    expect(readdirSync(out)).not.toContain(".export");
  });

  test("an import and an export that are killed go on where they stopped", async () => {
    await using folder = await temporaryHome();
    const home = join(folder.path, "home");
    const { id } = await workedHome(home);
    const { args, env: vars } = env("killed");
    const agent = join(home, "agents", id);
    mkdirSync(join(agent, "many"));
    for (let at = 0; at < 16; at++) writeFileSync(join(agent, "many", `${at}.bin`), Buffer.alloc(1_200_000, at));
    const out = join(folder.path, "copy");
    for (const at of [0, 2]) await killedAfter(["engine", "import", "--home", home, ...args], vars, at * 150);
    const imported = await agiraph(["engine", "import", "--home", home, ...args], vars);
    expect(imported).toMatchObject({ code: 0, stderr: expect.stringContaining("Imported and compared") });
    for (const at of [0, 2]) await killedAfter(["engine", "export", out, ...args], vars, at * 150);
    expect(await agiraph(["engine", "export", out, ...args], vars)).toMatchObject({ code: 0 });
    for (let at = 0; at < 16; at++)
      expect(readFileSync(join(out, "agents", id, "many", `${at}.bin`)).equals(Buffer.alloc(1_200_000, at))).toBe(true);
    expect(await agiraph(["engine", "export", out, ...args], vars)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is not empty. Name a new folder"),
    });
  });

  test("what is wrong is said with what to do, and the password never", async () => {
    await using home = await temporaryHome();
    const here = ["--home", home.path];
    const wrong = await Promise.all([
      agiraph(["engine", "check", ...here]),
      agiraph(["engine", "chekc", ...here], { AGIRAPH_ENGINE: postgres.url() }),
      agiraph(["engine", "export", ...here], { AGIRAPH_ENGINE: postgres.url() }),
      agiraph(["engine", "check", "--engine", "mysql://x/y", ...here]),
      agiraph(["engine", "import", "--engine", "postgres://me:hunter22@127.0.0.1:1/agiraph", ...here]),
    ]);
    expect(wrong.map(({ code }) => code)).toEqual([2, 2, 2, 1, 1]);
    expect(wrong.map(({ stderr }) => stderr.split("\n")[0])).toEqual([
      expect.stringContaining("Say where the engine is: agiraph engine check --engine"),
      expect.stringContaining('There is no command "engine chekc"'),
      expect.stringContaining("Name a new folder to export to"),
      expect.stringContaining("not that of a PostgreSQL database"),
      expect.stringContaining("postgres://me@127.0.0.1:1/agiraph cannot be reached: the connection was refused"),
    ]);
    expect(JSON.stringify(wrong)).not.toContain("hunter22");
  });
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function agiraph(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env } };
    const child = execFile(process.execPath, [MAIN, ...args], options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

async function killedAfter(args: readonly string[], env: Record<string, string>, ms: number): Promise<void> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH, ...env }, stdio: "ignore" });
  setTimeout(() => child.kill("SIGKILL"), 250 + ms);
  await once(child, "exit");
}
