import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TxProject } from "./tx-project.ts";

/** What comes of a task, for people and scripts: `tx send --wait`, `tx result`, `tx log`, `tx status`, `tx stats`. */
const LONG = { timeout: 180_000 };

/** Two meshes of commands without terminals: one that answers with several lines, one that fails; the first is ephemeral too. */
function declare(project: TxProject): void {
  const put = (path: string, value: unknown) => {
    mkdirSync(join(project.project, path, ".."), { recursive: true });
    writeFileSync(join(project.project, path), JSON.stringify(value));
  };
  const meshes = { says: "persistent", fails: "persistent", once: "ephemeral" };
  for (const [mesh, type] of Object.entries(meshes)) {
    const agent = mesh === "fails" ? "failing" : "saying";
    put(`meshes/mesh-configs/${mesh}.json`, { mesh, type, agents: [`y/${agent}`] });
  }
  for (const name of ["saying", "failing"])
    put(`meshes/agents/y/${name}/config.json`, { name, options: { program: name, runs: "headless" } });
  const programs = {
    saying: { kind: "autonomous", command: ["sh", "-c", "printf 'One.\\nTwo.\\n'"] },
    failing: { kind: "autonomous", command: ["sh", "-c", "echo no ink >&2; exit 4"] },
    obedient: { kind: "autonomous", command: ["true"] },
  };
  writeFileSync(join(project.home, "config.json"), JSON.stringify({ programs, server: { port: 0 } }));
}

test(
  "send --wait prints the result and exits with its code; result, log, status and stats say it again, also after a restart",
  LONG,
  async () => {
    await using project = new TxProject();
    declare(project);
    expect(await project.tx(["send", "says", "Speak", "--wait"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("are not started. Start them: tx start"),
    });
    await project.tx(["trust", "says", "fails", "--yes"]);
    await project.tx(["start"]);
    expect(await project.tx(["send", "once", "Speak", "--wait"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("once is not trusted"),
    });
    await project.tx(["trust", "once", "--yes"]);
    expect(await project.tx(["send", "says", "Speak", "--wait"])).toEqual({
      code: 0,
      stdout: "One.\nTwo.\n",
      stderr: "",
    });
    // Its folder is put away as soon as it has ended.
    expect(await project.tx(["send", "once", "Speak", "--wait"])).toEqual({
      code: 0,
      stdout: "One.\nTwo.\n",
      stderr: "",
    });
    const failed = await project.tx(["send", "fails", "Write", "--wait"]);
    expect([failed.code, failed.stdout]).toEqual([1, "failing: The program failed: it ended with 4.\n\nno ink\n"]);
    const another = await project.tx(["send", "fails", "Paint", "--wait", "--json"]);
    expect([another.code, JSON.parse(another.stdout)]).toMatchObject([1, { mesh: "fails", agent: null, failed: true }]);
    await project.endServer();
    expect((await project.tx(["result", "says"])).stdout).toBe("One.\nTwo.\n");
    expect(await project.tx(["result", "fails"])).toMatchObject({ code: 1, stdout: failed.stdout });
    expect(await project.tx(["result", "relay"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("No task of relay has ended yet."),
    });
    const log = (await project.tx(["log", "says"])).stdout.trim().split("\n");
    expect(log.map((line) => line.replace(/^\S+ \S+ +/, ""))).toEqual([
      expect.stringMatching(/says.*Speak/),
      expect.stringMatching(/says\/saying.*Speak/),
      expect.stringMatching(/says\/saying finished .*One\./),
      expect.stringMatching(/says finished .*One\./),
    ]);
    await project.tx(["start"]);
    const status = (await project.tx(["status", "fails"])).stdout;
    expect([status.match(/Write/g)?.length, status.match(/paint.* failed/g)?.length]).toEqual([1, 1]);
    expect(await project.json("stats", "fails")).toMatchObject({
      figures: [
        { mesh: "fails", agent: null, done: 0, failed: 2 },
        { mesh: "fails", agent: "failing", done: 0, failed: 2 },
      ],
    });
  },
);

test("chat takes each line as a task, prints what comes of it, and ends with the last result", LONG, async () => {
  await using project = new TxProject();
  declare(project);
  await project.tx(["trust", "says", "fails", "--yes"]);
  await project.tx(["start"]);
  const said = await project.tx(["chat", "says"], { stdin: "Speak\n\n/what\n/answer yes\nAnd again\n" });
  expect([said.code, said.stdout]).toEqual([0, "One.\nTwo.\nOne.\nTwo.\n"]);
  expect(said.stderr).toContain('There is no "/what".');
  expect(said.stderr).toContain("No question waits for an answer.");
  expect(await project.tx(["chat", "fails/failing"], { stdin: "Draw\n" })).toMatchObject({ code: 1 });
  expect(await project.tx(["chat", "once"], { stdin: "Speak\n" })).toMatchObject({ code: 3, stdout: "" });
});
