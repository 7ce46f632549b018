import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { withTmux } from "./terminals.ts";
import { TX, TxProject } from "./tx-project.ts";

const AGIRAPH = join(import.meta.dirname, "../../dist/bundle/main.js");
withTmux(
  "start, spawn with a task, status, stop: a whole life by tx, through a server that it starts itself",
  {
    timeout: 180_000,
  },
  async () => {
    await using project = new TxProject();
    await project.tx(["trust", "--terminals", "--yes"]);
    const started = await project.tx(["start"], { cwd: join(project.project, "deep/below") });
    expect([started.code, started.stdout.split("\n")[0]]).toEqual([0, "relay (sequential, persistent, idle, 0 done)"]);
    expect((await project.tx(["spawn", "relay", "--init", "# Carry it\n\nfar"])).code).toBe(0);
    await vi.waitFor(() => expect(project.messages("relay", "complete")).toHaveLength(1), { timeout: 120_000 });
    expect(await project.json("status", "relay")).toMatchObject({
      project: project.project,
      status: "working",
      meshes: [{ mesh: "relay", tasks_completed: 1, agents: [{ name: "first", runs: "tmux" }, { name: "second" }] }],
    });
    const [handed] = project.messages("relay/agents/second", "complete").filter((name) => name.endsWith(".1.md"));
    expect(
      readFileSync(join(project.project, ".ai/tx/mesh/relay/agents/second/msgs/complete", handed ?? ""), "utf8"),
    ).toContain("# Handoff from first to second\n\n## Previous Work\n\nI am first.\n");
    const attach = (await project.json("attach", "relay", "first")) as { command: string[] };
    expect(attach.command.slice(-2)).toEqual(["-t", "=relay-first"]);
    expect(await project.tx(["attach", "relay", "first"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("This is not a terminal"),
    });
    expect(await project.tx(["kill", "relay", "second"])).toMatchObject({
      code: 0,
      stderr: "Ended: relay/second. Their messages stay.\n",
    });
    expect(await project.tx(["stop"])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^Stopped and ended relay\/first\. Messages stay where they are\. To continue: tx start\nThe server keeps running \(pid \d+, \S+\)\. To stop it: tx stop --server\n$/,
      ),
    });
    expect(await project.tx(["spawn", "relay"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Start them: tx start"),
    });
    expect(await project.json("kill", "relay", "first")).toEqual({ mesh: "relay", killed: [] });
  },
);

test("what needs no server: prompt, send, next, done and ask by files, and what is wrong is said with what to do", async () => {
  await using project = new TxProject();
  const prompt = (await project.json("prompt", "relay", "second")) as { sections: { title: string }[]; prompt: string };
  expect(prompt.sections.map(({ title }) => title)).toEqual(["How to Speak", "Preamble", "Agent Prompt", "Workflow"]);
  expect(prompt.prompt).toContain("You are second of relay.");
  expect(await project.tx(["send", "relay/first", "-"], { stdin: "# By stdin\n" })).toMatchObject({ code: 0 });
  expect(project.messages("relay/agents/first", "inbox").map((name) => name.slice(10))).toEqual(["-0001-by-stdin.md"]);
  const inSession = { env: { TX_MESH: "relay", TX_AGENT: "first", TX_PROJECT: project.project }, cwd: project.dir };
  expect(await project.tx(["next"], inSession)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("Waiting: 1."),
  });
  expect(await project.tx(["ask", "second", "How?"], inSession)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("tx start"),
  });
  expect(project.messages("relay/agents/first", "outbox")).toHaveLength(1);
  const wrong = await Promise.all([
    project.tx(["send", "relai", "x"]),
    project.tx(["prompt", "relay", "frist"]),
    project.tx(["done", "x"]),
    project.tx(["status"], { cwd: project.dir }),
    project.tx(["send", "relay"]),
    project.tx(["status", "--project", "/nowhere"]),
  ]);
  expect(wrong.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 2]);
  expect(wrong.map(({ stderr }) => stderr.split("\n")[0])).toEqual([
    '✗ There is no mesh "relai". Did you mean relay? Choose from: relay.',
    '✗ There is no agent of relay "frist". Did you mean first? Choose from: first, second.',
    "✗ Only an agent in its session can do this. Outside of one, say which agent: --as mesh/agent",
    expect.stringMatching(/^✗ There are no meshes here: .* How to declare a mesh: \/.*\/docs\/meshes\.md$/),
    '✗ The argument "text" is missing.',
    "✗ There are no meshes in /nowhere: it has no meshes/mesh-configs/.",
  ]);
});

withTmux(
  "start takes the good meshes, says what is wrong with the others and fails; a mistake in config.json keeps nobody from a server that runs",
  { timeout: 180_000 },
  async () => {
    await using project = new TxProject();
    const broken = join(project.project, "meshes/mesh-configs/broken.json");
    writeFileSync(broken, JSON.stringify({ mesh: "broken", type: "persistent", agents: ["x/nobody"] }));
    const lame = join(project.project, "meshes/mesh-configs/zzz.json");
    writeFileSync(lame, JSON.stringify({ mesh: "zzz", type: "persistent", agents: ["z/one", "z/two"] }));
    for (const name of ["one", "two"]) {
      const dir = join(project.project, "meshes/agents/z", name);
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, "config.json"), JSON.stringify({ name, options: { program: "nowhere" } }));
      writeFileSync(join(dir, "prompt.md"), "You work.\n");
    }
    await project.tx(["trust", "--terminals", "--yes"]);
    const started = await project.tx(["start"]);
    expect([started.code, started.stdout.split("\n")[0]]).toEqual([1, "relay (sequential, persistent, idle, 0 done)"]);
    expect(started.stderr).toContain("there is no meshes/agents/x/nobody/config.json");
    expect(started.stderr).toContain('! z/one, z/two: "options.program": There is no program "nowhere".');
    expect(started.stderr).toContain(
      "2 problems, see above. The others are started. Fixed files are read again at once.",
    );
    expect(started.stdout.match(/cannot begin, see above/g)).toHaveLength(2);
    rmSync(lame);
    const before = readFileSync(join(project.home, "config.json"), "utf8");
    writeFileSync(join(project.home, "config.json"), '{"programs": 3}');
    const status = await project.tx(["status", "relay"]);
    expect([status.code, status.stdout.split("\n")[0]]).toEqual([0, "relay (sequential, persistent, idle, 0 done)"]);
    writeFileSync(join(project.home, "config.json"), before);
    rmSync(broken);
    const as = ["--as", "relay/first"];
    const done = await project.tx(["done", "I am done.", ...as]);
    expect(done.code).toBe(1);
    expect(done.stderr).toContain("There is no task in active/ that this could end.");
    const [aside] = project.messages("relay/agents/first", "quarantine").filter((name) => !name.endsWith(".reason.md"));
    expect(done.stderr).toContain(`.ai/tx/mesh/relay/agents/first/msgs/quarantine/${aside}`);
    await project.tx(["send", "relay", "# Carry it"]);
    await vi.waitFor(() => expect(project.messages("relay", "complete")).toHaveLength(1), { timeout: 120_000 });
    expect(await project.json("archive", "relay", "--days", "0")).toEqual({ mesh: "relay", archived: 5 });
    expect(await project.tx(["archive", "relay", "--days", "soon"])).toMatchObject({ code: 2 });
  },
);

test("tx trust: without a person at the terminal it needs --yes; start runs nothing before and says what to do", async () => {
  await using project = new TxProject();
  const started = await project.tx(["start"]);
  expect([started.code, started.stderr]).toEqual([
    3,
    expect.stringContaining("relay is not trusted yet: none of it runs. Review it: tx trust relay"),
  ]);
  const asked = await project.tx(["trust", "relay"]);
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining("tx trust relay --yes")]);
  expect(asked.stderr).toContain("meshes/agents/x/first/prompt.md");
  const session = { env: { TX_MESH: "relay", TX_AGENT: "first", TX_SESSION: project.dir } };
  expect(await project.tx(["trust", "relay", "--yes"], session)).toMatchObject({ code: 1 });
  expect(existsSync(join(project.home, "trust.json"))).toBe(false);

  expect((await project.tx(["trust", "relay", "--yes"])).stderr).toContain("relay is trusted, in the sandbox.");
  expect(await project.json("trust", "--list")).toMatchObject({
    meshes: [{ project: project.project, mesh: "relay", terminals: false, by: "terminal" }],
  });
  expect(await project.json("status")).toMatchObject({
    meshes: [{ agents: [{ runs: "headless" }, { runs: "headless" }] }],
  });
  const prompt = join(project.project, "meshes/agents/x/first/prompt.md");
  writeFileSync(prompt, "Another.\n");
  const inStatus = async () => (await project.tx(["status"])).stderr;
  await expect.poll(inStatus).toContain("changed: meshes/agents/x/first/prompt.md");
  const looked = (await project.tx(["trust", "relay"])).stderr;
  expect(looked).toContain("relay has changed since you trusted it. changed: meshes/agents/x/first/prompt.md\n");
  expect(looked).toContain(`${prompt} (9 bytes, changed)`);
  const inbox = (await project.tx(["inbox"], { program: AGIRAPH })).stdout;
  expect(inbox).toContain("Agiraph asks whether you trust the mesh relay");
  expect(inbox).toContain("\n  tx trust relay\n");

  expect((await project.tx(["untrust", "relay"])).stderr).toBe("relay is no longer trusted.\n");
  const unknown = await project.tx(["untrust", "realy"]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("Did you mean relay?")]);
  expect(await project.json("trust", "--list")).toEqual({ meshes: [] });
});

test("completion knows commands, meshes and agents, and bash completes with it", async () => {
  await using project = new TxProject();
  const next = async (...words: string[]) =>
    (await project.tx(["names", "--", ...words])).stdout.split("\n").filter(Boolean);
  expect(await next("attach")).toEqual(["relay"]);
  expect(await next("attach", "relay")).toEqual(["first", "second"]);
  expect(await next("send")).toEqual(["relay", "relay/first", "relay/second"]);
  expect(await next("stop")).toEqual([]);
  const { stdout: script } = await project.tx(["completion", "bash"]);
  mkdirSync(join(project.dir, "bin"));
  writeFileSync(join(project.dir, "bin/tx"), `#!/bin/sh\nexec "${process.execPath}" "${TX}" "$@"\n`, { mode: 0o755 });
  const said = execFileSync(
    "bash",
    ["-c", `${script}\nCOMP_WORDS=(tx attach relay f); COMP_CWORD=3; _tx; echo "\${COMPREPLY[@]}"`],
    {
      cwd: project.project,
      env: { PATH: `${join(project.dir, "bin")}:${process.env.PATH}`, HOME: project.dir },
      encoding: "utf8",
    },
  );
  expect(said.trim()).toBe("first");
});

withTmux(
  "the record of meshes: paused it says how to go on, resumed it goes on in the server, and without one it is refused",
  { timeout: 120_000 },
  async () => {
    await using project = new TxProject();
    await project.tx(["trust", "--terminals", "--yes"]);
    await project.tx(["start"]);
    const agiraph = (...words: string[]) => project.tx(words, { program: AGIRAPH });
    expect((await agiraph("pause", "mesh: project")).stderr).toContain("is paused.");
    const paused = await project.tx(["status", "relay"]);
    expect([paused.code, paused.stderr]).toEqual([
      0,
      `The meshes of ${project.project} are not started (tx start). Declared: relay.\n`,
    ]);
    const resumed = await agiraph("resume", "mesh: project");
    expect([resumed.code, resumed.stderr]).toEqual([0, expect.stringContaining("continues in the server")]);
    expect((await project.tx(["status", "relay"])).stdout).toMatch(/^relay /);
    await agiraph("pause", "mesh: project");
    await project.endServer();
    expect(await agiraph("resume", "mesh: project")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Start them: tx start --project ${project.project}`),
    });
    expect((await project.tx(["start"])).code).toBe(0);
  },
);
