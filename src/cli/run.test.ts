import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ProviderServer, startProviderServer } from "../testing/provider-server.ts";
import { type TemporaryHome, temporaryHome } from "../testing/temporary-home.ts";
import { agiraph } from "./testing/cli-process.ts";

/** One team, run once; what people and programs see of it afterwards. */
let folder: TemporaryHome;
let provider: ProviderServer;
let ran: Awaited<ReturnType<typeof agiraph>>;
let id: string;

const GOAL = "Which chip is faster?\nMeasure both.";

beforeAll(async () => {
  folder = await temporaryHome();
  provider = await startProviderServer({
    turns: {
      "Which chip": [
        {
          text: "I let it be \u001b[31mmeasured\u001b[0m.",
          calls: [{ name: "create_work_node", args: { task: "Measure chip A\n\nCarefully." } }],
        },
        { text: "I wait." },
        { calls: [{ name: "finish", args: { summary: "A is fast.\nB is not." } }] },
      ],
      Measure: [
        { calls: [{ name: "read_file", args: { path: "scratch/none.md" } }] },
        {
          calls: [
            { name: "write_file", args: { path: "scratch/report.md", content: "# A\n\n80 \u001b[2J points\n" } },
            { name: "write_file", args: { path: "scratch/data.bin", content: "\u0000\u0001" } },
          ],
        },
        { calls: [{ name: "publish", args: { summary: "A: 80" } }] },
      ],
    },
  });
  ran = await call(["run", GOAL, "--model", "ollama/test"]);
  const [listed] = lines((await call(["ls", "--json"])).stdout);
  id = String(listed?.id);
}, 60_000);

afterAll(async () => {
  await provider.close();
  await folder.remove();
});

function call(words: string[]) {
  return agiraph(words, { folder: folder.path, env: { ...provider.env, AGIRAPH_HOME: join(folder.path, "home") } });
}

function lines(ndjson: string): Record<string, unknown>[] {
  return ndjson
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const runFolder = () => join(folder.path, "home/agents", id, "runs/run-1");

test("the story is told on stderr in plain lines, the result and its files on stdout", async () => {
  const words = ran.stderr
    .replace(/\d+ ms/g, "N ms")
    .replace(/\d:\d\d/g, "M:SS")
    .replaceAll(id, "ID");
  const [head, story] = [words.split("\n").slice(0, 3), words.split("\n").slice(3)];
  expect(head).toEqual([
    "Model: ollama/test (--model)",
    expect.stringMatching(/^ollama\/test is not in our list/),
    "Agent: chip-faster-measure-both (ID)",
  ]);
  expect(story.filter((line) => line.startsWith("coordinator"))).toEqual([
    "coordinator │ I let it be measured.",
    "coordinator │ I wait.",
  ]);
  expect(story.filter((line) => !line.startsWith("coordinator"))).toEqual([
    "node-1      + Measure chip A",
    "node-1      ▸ Alice",
    expect.stringMatching(/^Alice {7}✗ read_file scratch\/none\.md — There is no /),
    "Alice       ✓ write_file scratch/report.md N ms",
    "Alice       ✓ write_file scratch/data.bin N ms",
    "node-1      ✓ Alice: A: 80",
    expect.stringMatching(
      /^✓ chip-faster-measure-both has finished: 6 model calls, .*, M:SS\. Details: agiraph show ID$/,
    ),
    "",
  ]);
  expect({ code: ran.code, stdout: ran.stdout.split("\n") }).toEqual({
    code: 0,
    stdout: [
      "A is fast.",
      "B is not.",
      "",
      join(runFolder(), "nodes/node-1/published/data.bin"),
      join(runFolder(), "nodes/node-1/published/report.md"),
      "",
      join(runFolder(), "_output.md"),
      join(runFolder(), "_plan.md"),
      "",
    ],
  });
});

test("nothing that the model or a file says reaches the terminal as an escape sequence", async () => {
  const seen = await Promise.all([call(["show", id]), call(["logs", id]), call(["board", id]), call(["ls"])]);
  for (const { stdout, stderr } of [ran, ...seen]) expect(stdout + stderr).not.toContain("\u001b");
});

test("ls, board and workers are tables", async () => {
  const [ls, board, workers] = await Promise.all([
    call(["ls"]),
    call(["board", "chip"]),
    call(["workers", id.slice(6, 12)]),
  ]);
  expect(
    ls.stdout
      .replaceAll(id, "ID")
      .replace(/ \d+s /, " 1s ")
      .split("\n"),
  ).toEqual([
    expect.stringMatching(/^NAME +ID +STATUS +AGE +COST +GOAL$/),
    expect.stringMatching(/^chip-faster-measure-both +ID +completed +1s +\S.* Which chip is faster\?$/),
    "",
  ]);
  expect(board.stdout.split("\n")).toEqual([
    "NODE    STATUS     WORKER  TASK",
    "node-1  completed  Alice   Measure chip A — A: 80",
    "",
  ]);
  expect(workers.stdout.split("\n").map((line) => line.split(/ {2,}/)[0])).toEqual([
    "WORKER",
    "coordinator",
    "Alice",
    "",
  ]);
});

test("show tells everything on one page", async () => {
  const { stdout } = await call(["show", id]);
  const page = stdout.split("\n");
  expect(page[0]).toBe(`chip-faster-measure-both  ${id}`);
  expect(page.slice(1, 9).map((line) => line.split(" ")[0])).toEqual([
    "Goal",
    "Status",
    "Model",
    "Created",
    "Run",
    "Spent",
    "Project",
    "Folder",
  ]);
  for (const part of [
    "Status   completed",
    `Project  ${folder.path}`,
    "Board: 1 of 1 node completed",
    "Workers",
    "Summary\nA is fast.\nB is not.",
    "published/report.md",
  ]) {
    expect(stdout).toContain(part);
  }
  const [json] = lines((await call(["show", id, "--json"])).stdout);
  expect(json).toMatchObject({
    id,
    status: "completed",
    nodes: { total: 1, completed: 1, failed: 0 },
    summary: "A is fast.\nB is not.",
    repairs: [],
  });
});

test("logs gives every fact once, as a line for people or as it is for programs", async () => {
  const [people, programs, later] = await Promise.all([
    call(["logs", id]),
    call(["logs", id, "--json"]),
    call(["logs", id, "--json", "--after", "5"]),
  ]);
  const facts = lines(programs.stdout);
  expect(facts.map((fact) => fact.seq)).toEqual(facts.map((_, i) => i + 1));
  expect({ first: facts[0]?.type, last: facts.at(-1)?.type }).toEqual({
    first: "agent.created",
    last: "agent.completed",
  });
  expect(lines(later.stdout)).toEqual(facts.slice(5));
  const told = people.stdout.trimEnd().split("\n");
  expect(told.length).toBe(facts.length);
  expect(told[0]).toMatch(
    /^ {4}1 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}agent\.created {8}chip-faster-measure-both was created \(ollama\/test\): Which chip is faster\?$/,
  );
});

test("files lists what was published first, and shows one of them byte by byte", async () => {
  const listed = (await call(["files", id])).stdout.split("\n");
  expect(listed.slice(0, 3)).toEqual([
    runFolder(),
    "✓ nodes/node-1/published/data.bin  2 B",
    "✓ nodes/node-1/published/report.md  20 B",
  ]);
  expect(listed.filter((line) => /^ {2}\S/.test(line)).map((line) => line.trim().split("  ")[0])).toEqual([
    "_messages/",
    "_output.md",
    "_plan.md",
    "nodes/",
    "output/",
    "workers/",
  ]);
  const path = "nodes/node-1/published/report.md";
  const [relative, absolute, binary] = await Promise.all([
    call(["files", id, path]),
    call(["files", id, join(runFolder(), path)]),
    call(["files", id, "nodes/node-1/published/data.bin"]),
  ]);
  const content = await readFile(join(runFolder(), path), "utf8");
  expect([relative.stdout, absolute.stdout]).toEqual([content, content]);
  expect(binary.stdout).toBe(`${join(runFolder(), "nodes/node-1/published/data.bin")}  2 B, binary\n`);
});

test("no name leads out of the agent's folder", async () => {
  await writeFile(join(folder.path, "secret.txt"), "secret");
  for (const path of ["../../../../../secret.txt", join(folder.path, "secret.txt"), "agent/../../../../secret.txt"]) {
    const { code, stdout } = await call(["files", id, path]);
    expect({ path, code, stdout }).toEqual({ path, code: 1, stdout: "" });
  }
});

test("a name that nobody has is answered with those there are", async () => {
  const { code, stderr } = await call(["show", "nobody"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `✗ There is no agent "nobody". Choose from: ${id} (chip-faster-measure-both).\n`,
  });
});

test("a completed agent is not resumed, and stopping it again changes nothing", async () => {
  const resumed = await call(["resume", id]);
  expect({ code: resumed.code, stderr: resumed.stderr }).toEqual({
    code: 1,
    stderr: `✗ chip-faster-measure-both (${id}) is completed; there is nothing to continue. Its result: agiraph show ${id}. To have more done: agiraph send ${id} "…"\n`,
  });
  const before = await stat(join(folder.path, "home/agents", id, "events.jsonl"));
  expect(await call(["stop", id])).toEqual({
    code: 0,
    stdout: "",
    stderr: `chip-faster-measure-both (${id}) is not at work: it is completed.\n`,
  });
  const after = await stat(join(folder.path, "home/agents", id, "events.jsonl"));
  expect(after.size).toBe(before.size);
});

test("with --json every fact stands on stdout as it comes, whole and in order; the goal may come by stdin", async () => {
  await mkdir(join(folder.path, "docs"), { recursive: true });
  await writeFile(join(folder.path, "docs/a.md"), "# Cats\n\nCats purr.\n");
  const options = { folder: folder.path, env: { AGIRAPH_HOME: join(folder.path, "demo") }, stdin: "Survey ./docs\n" };
  const { code, stdout, stderr } = await agiraph(["run", "-", "--json"], options);
  const facts = lines(stdout);
  expect({ code, seqs: facts.map((fact) => fact.seq), ends: [facts[0]?.type, facts.at(-1)?.type] }).toEqual({
    code: 0,
    seqs: facts.map((_, i) => i + 1),
    ends: ["agent.created", "agent.completed"],
  });
  expect(facts[0]?.data).toMatchObject({ goal: "Survey ./docs", model: "demo/surveyor", project: folder.path });
  // No key was set, so the demo was taken, and the program says so.
  expect(stderr).toMatch(/^Model: demo\/surveyor \(the demo, not a language model: none of ANTHROPIC_API_KEY, /);
});

test("what the demo cannot do is tried again with another model, in words that work for how it was called", async () => {
  const env = { AGIRAPH_HOME: join(folder.path, "demo-poem"), npm_lifecycle_event: "start" };
  const { code, stderr } = await agiraph(["run", "Write a poem"], { folder: folder.path, env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/Try again: npm start -- resume agent-\w+ --model PROVIDER\/MODEL$/m);
  expect(stderr.replace(/\s+/g, " ")).toContain('To see the demo at work: npm start -- run "Survey');
});

test("--project gives the team another folder than the one you stand in, and one that is not there is said", async () => {
  await mkdir(join(folder.path, "elsewhere"), { recursive: true });
  await writeFile(join(folder.path, "elsewhere/a.md"), "# Dogs\n");
  const options = { folder: folder.path, env: { AGIRAPH_HOME: join(folder.path, "demo-elsewhere") } };
  const { code, stdout } = await agiraph(["run", "Survey", "--project", "elsewhere", "--json"], options);
  expect([code, lines(stdout)[0]?.data]).toEqual([
    0,
    expect.objectContaining({ project: join(folder.path, "elsewhere") }),
  ]);
  const refused = await agiraph(["run", "Survey", "--project", "nowhere"], options);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(`--project: there is no folder ${join(folder.path, "nowhere")}.`),
  ]);
});

test("--tools names the only tools of the team, also of one in the background, and an unknown one is refused", async () => {
  const [none, unknown] = await Promise.all(
    [",", "read_file,web_fech"].map((names) => call(["run", GOAL, "--model", "ollama/test", "--tools", names])),
  );
  expect([none?.code, none?.stderr]).toEqual([2, expect.stringContaining("--tools is empty.")]);
  expect([unknown?.code, unknown?.stderr]).toEqual([
    2,
    expect.stringContaining('--tools: There is no tool "web_fech". Did you mean "web_fetch"?'),
  ]);
  const words = ["run", GOAL, "--model", "ollama/test", "--detach", "--json", "--tools", "read_file, write_file"];
  const born = JSON.parse((await call(words)).stdout);
  await call(["stop", born.id]);
  const [created] = lines((await call(["logs", born.id, "--json", "--limit", "1000"])).stdout);
  expect(created?.data).toMatchObject({ tools: ["read_file", "write_file"] });
});

test("a key that is missing is named before anything is made", async () => {
  const options = { folder: folder.path, env: { AGIRAPH_HOME: join(folder.path, "keyless") } };
  const { code, stdout, stderr } = await agiraph(["run", "Think", "--model", "openai/gpt-5", "--json"], options);
  expect({ code, error: JSON.parse(stdout), stderr }).toEqual({
    code: 1,
    error: { error: { code: "unusable_model", message: expect.stringContaining("OPENAI_API_KEY") } },
    stderr: expect.not.stringMatching(/^ +at /m),
  });
  expect((await agiraph(["ls", "--json"], options)).stdout).toBe("");
});
