import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { type ProviderServer, startProviderServer } from "../testing/provider-server.ts";
import { type TemporaryHome, temporaryHome } from "../testing/temporary-home.ts";
import { agiraph, CliProcess } from "./testing/cli-process.ts";

/** A coordinator that thinks until the test lets it finish. */
const turns = [{ text: "I think about it.", hold: "thought", calls: [{ name: "finish", args: { summary: "42" } }] }];

let folder: TemporaryHome;
let provider: ProviderServer;

beforeEach(async () => {
  folder = await temporaryHome();
  provider = await startProviderServer({ turns });
});

afterEach(async () => {
  await provider.close();
  await folder.remove();
});

const options = () => ({ folder: folder.path, env: { ...provider.env, AGIRAPH_HOME: join(folder.path, "home") } });
const call = (...words: string[]) => agiraph(words, options());

async function startRun(...more: string[]): Promise<{ running: CliProcess; id: string }> {
  const running = new CliProcess(["run", "Deep question", "--model", "ollama/test", ...more], options());
  await provider.reached("thought");
  await running.saw("Agent: ");
  return { running, id: String((await agents())[0]?.id) };
}

async function agents(): Promise<{ id: string; status: string }[]> {
  const { stdout } = await call("ls", "--json");
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

test("the first Ctrl-C stops kindly and names the command that goes on; that command finishes the work", async () => {
  const { running, id } = await startRun();
  running.signal("SIGINT");
  const { code, stderr } = await running.ended;
  expect({ code, status: (await agents()).map((agent) => agent.status) }).toEqual({ code: 130, status: ["stopped"] });
  expect(stderr.trimEnd().split("\n").slice(-2)).toEqual([
    "Stopping … (Ctrl-C again quits at once)",
    expect.stringMatching(
      new RegExp(`^Stopped after 0 model calls, \\$0, \\d:\\d\\d\\. Continue with: agiraph resume ${id}$`),
    ),
  ]);

  provider.release("thought");
  const resumed = await call("resume", id);
  expect({ code: resumed.code, result: resumed.stdout.split("\n")[0] }).toEqual({ code: 0, result: "42" });
});

test.each(["SIGINT", "SIGHUP", "SIGTERM"] as const)(
  "LOCAL-HOME-3: a %s that comes while it looks for a model is not lost",
  async (signal) => {
    const probed = Promise.withResolvers<true>();
    const answers: (() => void)[] = [];
    const ollama = createServer((_, response) => {
      answers.push(() => void response.end("{}"));
      probed.resolve(true);
    });
    await new Promise<void>((listening) => ollama.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void ollama.close());
    const address = ollama.address();
    const OLLAMA_BASE_URL = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const env = { AGIRAPH_HOME: join(folder.path, "home"), OLLAMA_BASE_URL };
    const begin = () => new CliProcess(["run", "Survey the files"], { folder: folder.path, env });
    let running = begin();
    // It does not wait long for an answer: on a busy machine it may end before its question is heard.
    while (!(await Promise.race([probed.promise, running.ended.then(() => false)]))) running = begin();
    running.signal(signal);
    for (const answer of answers) answer();
    const { code, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(/no agent was created|Stopped after 0 model calls/),
    });
  },
);

test.each([
  ["SIGHUP", "its terminal was closed"],
  ["SIGTERM", "its process was told to end, or the process that had started it was killed"],
] as const)("a run that is ended by %s is not recorded as stopped by the person", async (signal, why) => {
  const { running, id } = await startRun();
  running.signal(signal);
  expect((await running.ended).code).toBe(130);
  const { stdout } = await call("logs", id, "--json", "--type", "agent.stopped");
  expect(JSON.parse(stdout)).toMatchObject({
    data: { by: "agiraph", why },
    actor: { kind: "program", via: "terminal" },
  });
});

test("a second Ctrl-C quits at once; nothing that was recorded is lost", async () => {
  const { running, id } = await startRun();
  running.signal("SIGINT");
  await running.saw("Stopping");
  running.signal("SIGINT");
  const { code, stderr } = await running.ended;
  expect({ code, goOn: stderr.includes(`Continue with: agiraph resume ${id}`) }).toEqual({ code: 130, goOn: true });
  provider.release("thought");
  expect((await call("resume", "deep")).code).toBe(0);
});

test("another terminal sees the agent at work and can stop it; what needs the home to itself is refused, with the holder's pid", async () => {
  const { running, id } = await startRun();
  expect((await agents()).map((agent) => agent.status)).toEqual(["working"]);
  const second = await call("serve", "--port", "0");
  const said = second.stderr.replace(/since [\d-]+ [\d:]+/, "since THEN");
  expect({ code: second.code, stderr: said }).toEqual({
    code: 1,
    stderr:
      `✗ The home ${join(folder.path, "home")} is in use by pid ${running.pid} (agiraph run, since THEN), which works on deep-question (${id}). ` +
      "Other commands join it automatically, but this one needs the home to itself. " +
      `Let it end, or stop it (Ctrl-C in its terminal, or kill ${running.pid}). Or give this one a home of its own with --home DIR.\n`,
  });

  const stopped = await call("stop", "deep-question", "--json");
  expect({ code: stopped.code, answer: JSON.parse(stopped.stdout) }).toEqual({
    code: 0,
    answer: { id, name: "deep-question", stopped: true },
  });
  expect((await running.ended).code).toBe(130);
  expect((await call("stop", id)).stderr).toBe(`deep-question (${id}) is not at work: it is stopped.\n`);
});

test("logs -f shows what another process does as it happens, and ends with Ctrl-C", async () => {
  const { running, id } = await startRun();
  const following = new CliProcess(["logs", id, "-f"], options());
  await following.saw("model.called");
  provider.release("thought");
  await following.saw("agent.completed");
  following.signal("SIGINT");
  expect({ followed: (await following.ended).code, ran: (await running.ended).code }).toEqual({
    followed: 130,
    ran: 0,
  });
});

test("an agent whose process was killed is shown as interrupted, mentioned by the next run, and goes on", async () => {
  const { running, id } = await startRun();
  running.signal("SIGKILL");
  await running.ended;
  expect((await agents()).map((agent) => agent.status)).toEqual(["interrupted"]);
  expect((await call("show", id)).stdout).toContain(`Continue with: agiraph resume ${id}`);

  provider.release("thought");
  const other = await call("run", "Other question", "--model", "ollama/test");
  expect({
    code: other.code,
    mention: other.stderr.includes("1 agent was interrupted: agiraph resume deep-question\n"),
  }).toEqual({ code: 0, mention: true });
  expect((await call("resume", id)).code).toBe(0);
});

test("while an agent rests, so do its nodes and its workers: nobody is shown at work who is not", async () => {
  await using team = await startProviderServer({
    turns: {
      Deep: [{ calls: [{ name: "create_work_node", args: { task: "Measure it" } }] }, { text: "I wait." }],
      Measure: [{ hold: "measured", calls: [{ name: "publish", args: { summary: "80" } }] }],
    },
  });
  const env = { ...options().env, ...team.env };
  const look = async (name: string) =>
    (await agiraph([name, "deep"], { folder: folder.path, env })).stdout
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(/ {2,}/).slice(0, 2));
  const running = new CliProcess(["run", "Deep question", "--model", "ollama/test"], { folder: folder.path, env });
  await team.reached("measured");
  expect(await look("board")).toEqual([["node-1", "running"]]);
  await agiraph(["pause", "deep"], { folder: folder.path, env });
  await running.ended;
  expect([await look("board"), await look("workers")]).toEqual([
    [["node-1", "paused"]],
    [
      ["coordinator", "paused"],
      ["Alice", "paused"],
    ],
  ]);

  const again = new CliProcess(["resume", "deep"], { folder: folder.path, env });
  await again.saw("Agent: ");
  again.signal("SIGKILL");
  await again.ended;
  expect([await look("board"), await look("workers")]).toEqual([
    [["node-1", "interrupted"]],
    [
      ["coordinator", "interrupted"],
      ["Alice", "interrupted"],
    ],
  ]);
});

test("stopping an interrupted agent records the stop, once", async () => {
  const { running, id } = await startRun();
  running.signal("SIGKILL");
  await running.ended;
  const stops = [await call("stop", id), await call("stop", id)];
  expect(stops.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
    { code: 0, stderr: `deep-question (${id}) was interrupted; it is now recorded as stopped.\n` },
    { code: 0, stderr: `deep-question (${id}) is not at work: it is stopped.\n` },
  ]);
  const { stdout } = await call("logs", id);
  expect(stdout.match(/agent\.stopped/g)).toEqual(["agent.stopped"]);
});

test("when the reader of --json leaves, the agent is stopped and can go on", async () => {
  await using long = await startProviderServer({
    turns: [
      { hold: "first", calls: [{ name: "list_files", args: { path: "" } }] },
      { hold: "second", calls: [{ name: "finish", args: { summary: "42" } }] },
    ],
  });
  const env = { ...options().env, ...long.env };
  const running = new CliProcess(["run", "Deep question", "--model", "ollama/test", "--json"], {
    folder: folder.path,
    env,
  });
  await running.saw("model.called");
  running.leaveStdout();
  // What happens next cannot be told any more.
  long.release("first");
  const { code } = await running.ended;
  expect({ code, status: (await agents()).map((agent) => agent.status) }).toEqual({ code: 130, status: ["stopped"] });
});

test("--detach gives the prompt back while the agent works on, and it finishes by itself", async () => {
  const { code, stdout, stderr } = await call("run", "Deep question", "--model", "ollama/test", "--detach", "--json");
  const { id, pid }: { id: string; pid: number } = JSON.parse(stdout);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`follow: agiraph logs ${id} -f`) });
  // It leads a process group of its own, so that closing this terminal does not end it.
  expect(() => process.kill(-pid, 0)).not.toThrow();
  const following = new CliProcess(["logs", id, "-f"], options());
  await provider.reached("thought");
  provider.release("thought");
  await following.saw("agent.completed");
  following.signal("SIGINT");
  await following.ended;
  expect((await agents()).map((agent) => agent.status)).toEqual(["completed"]);
});

test("resume --detach goes on in the background", { timeout: 120_000 }, async () => {
  const { running, id } = await startRun();
  running.signal("SIGINT");
  await running.ended;
  const { code, stdout, stderr } = await call("resume", id, "--detach", "--json");
  const { pid, ...born }: { id: string; name: string; pid: number } = JSON.parse(stdout);
  expect({ code, born, stderr }).toEqual({
    code: 0,
    born: { id, name: "deep-question" },
    stderr: expect.stringContaining(`deep-question is running in the background (pid ${pid}).`),
  });
  const following = new CliProcess(["logs", id, "-f"], options());
  provider.release("thought");
  await following.saw("agent.completed");
  following.signal("SIGINT");
  await following.ended;
});

test("--detach tells what is wrong before it lets go", async () => {
  const { code, stdout, stderr } = await agiraph(["run", "Think", "--model", "openai/gpt-5", "--detach"], {
    folder: folder.path,
  });
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining("OPENAI_API_KEY") });
});

test("a model that refuses us fails the agent: what failed, and what to do, is said", async () => {
  await using refusing = await startProviderServer({ turns: [{ fault: { status: 401, message: "bad key" } }] });
  const { code, stderr } = await agiraph(["run", "Think", "--model", "ollama/test"], {
    folder: folder.path,
    env: refusing.env,
  });
  const [failed, advice] = stderr.trimEnd().split("\n").slice(-2);
  expect({ code, failed, advice }).toEqual({
    code: 1,
    failed: expect.stringMatching(/^✗ think failed: .*bad key/),
    advice: expect.stringMatching(/ What happened: agiraph logs agent-\w+\. Try again: agiraph resume agent-\w+$/),
  });
});
