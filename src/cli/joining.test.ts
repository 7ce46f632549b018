import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../store/open-store.ts";
import { agiraph, CliProcess } from "./testing/cli-process.ts";
import { jsonLines } from "./testing/json-lines.ts";
import { askHuman, finish, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, start, standing } = scriptedAgent();

const shed = (...more: string[]) => ["run", "Build a shed", "--model", "ollama/test", ...more];

test("a second run joins the process that works in the home: both are done, and the first stays until the second is", {
  timeout: 120_000,
}, async () => {
  const provider = await scripted({
    "Paint the house": [{ hold: "painted", ...finish("The house is blue.") }],
    "Build a shed": [
      { text: "I look for wood.", calls: [{ name: "list_files", args: { path: "." } }] },
      { hold: "built", text: "It stands.", ...finish("The shed is up.") },
    ],
  });
  const first = started(start());
  await provider.reached("painted");
  const second = started(new CliProcess(shed(), options()));
  await second.saw(`, in the process with pid ${first.pid} (agiraph run)`);
  await second.saw("coordinator │ I look for wood.");
  provider.release("painted");
  await first.saw("build-shed is at work in this process, for other terminals. It stays until it rests");
  expect(first.isRunning).toBe(true);
  provider.release("built");
  const ended = await Promise.all([first.ended, second.ended]);
  expect(ended.map(({ code, stdout }) => [code, stdout.split("\n")[0]])).toEqual([
    [0, "The house is blue."],
    [0, "The shed is up."],
  ]);
  expect(ended[1]?.stdout).toContain("_output.md\n");
  expect(ended[1]?.stderr.split("\n").filter((line) => line.includes(" │ "))).toEqual([
    "coordinator │ I look for wood.",
    "coordinator │ It stands.",
  ]);
});

test("what AGIRAPH_MODEL chooses in a terminal holds also where another process does the work", {
  timeout: 120_000,
}, async () => {
  const provider = await scripted({
    "Paint the house": [{ hold: "painted", ...finish("The house is blue.") }],
    "Build a shed": [finish("The shed is up.")],
  });
  const first = started(start());
  await provider.reached("painted");
  const at = (model: string) => {
    const env = { ...options().env, AGIRAPH_MODEL: model, AGIRAPH_WORKER_MODEL: "ollama/small" };
    return agiraph(["run", "Build a shed", "--name", "paint-house"], { ...options(), env });
  };
  const second = await at("ollama/other");
  expect([second.code, second.stderr]).toEqual([
    0,
    expect.stringMatching(/^Model: ollama\/other\nAgent: paint-house-2 .*\n! There is an agent paint-house already/),
  ]);
  const [{ model, worker_model } = {}] = jsonLines((await call("show", "paint-house-2", "--json")).stdout);
  expect([model, worker_model]).toEqual(["ollama/other", "ollama/small"]);
  const wrong = await at("olama/other");
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringMatching(/^✗ AGIRAPH_MODEL: There is no model olama\/other\. Did you mean/),
  ]);
  provider.release("painted");
  await first.ended;
});

test("when the process that works is killed, one terminal takes the home over and the others join it, each fact told once", {
  timeout: 120_000,
}, async () => {
  const provider = await scripted({
    "Paint the house": [{ hold: "painted", ...finish("The house is blue.") }],
    "Build a shed": [
      { calls: [{ name: "list_files", args: { path: "." } }] },
      { hold: "built", ...finish("It is up.") },
    ],
    "Dig a pond": [{ hold: "dug", ...finish("It is deep.") }],
  });
  const first = started(start());
  await provider.reached("painted");
  const others = [shed("--json"), ["run", "Dig a pond", "--model", "ollama/test", "--json"]].map((words) =>
    started(new CliProcess(words, options())),
  );
  await provider.reached("built");
  await provider.reached("dug");
  first.signal("SIGKILL");
  await Promise.all(others.map((each) => each.saw("has ended. It continues in ")));
  provider.release("built");
  provider.release("dug");
  const ended = await Promise.all(others.map((each) => each.ended));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  const places = ended.map(
    ({ stderr }) => /It continues in (this terminal|the process with pid \d+)\./.exec(stderr)?.[1],
  );
  expect(places.filter((place) => place === "this terminal")).toHaveLength(1);
  for (const { stdout } of ended) {
    const facts = jsonLines(stdout);
    expect(facts.map(({ seq }) => seq)).toEqual(facts.map((_, at) => at + 1));
    expect(facts.at(-1)?.type).toBe("agent.completed");
    const resumed = facts.find(
      ({ type, data }) => type === "agent.started" && (data as { why?: string }).why !== "created",
    );
    expect(resumed?.actor).toEqual({ kind: "human", via: "terminal" });
  }
});

test("a run in the background is joined too, and one that joins in the background goes on when the other is killed", {
  timeout: 120_000,
}, async () => {
  const provider = await scripted({
    "Paint the house": [{ hold: "painted", ...finish("The house is blue.") }],
    "Build a shed": [{ hold: "built", ...finish("It is up.") }],
  });
  const first = await call("run", "Paint the house", "--model", "ollama/test", "--detach", "--json");
  const { pid }: { pid: number } = JSON.parse(first.stdout);
  onTestFinished(() => kill(pid));
  await provider.reached("painted");
  const second = await call(...shed("--detach", "--json"));
  const joined: { id: string; pid: number } = JSON.parse(second.stdout);
  onTestFinished(() => kill(joined.pid));
  await provider.reached("built");
  kill(pid);
  const following = started(new CliProcess(["logs", joined.id, "-f"], options()));
  await following.saw("continues where it was interrupted");
  provider.release("built");
  await following.saw("agent.completed");
  expect((await standing()).toSorted()).toEqual(["completed", "interrupted"]);
});

test("what a person says from any terminal is recorded as theirs, wherever the agent works", {
  timeout: 120_000,
}, async () => {
  const provider = await scripted([
    { hold: "thought", calls: [{ name: "list_files", args: { path: "" } }] },
    askHuman({ question: "Which colour?" }),
  ]);
  const running = started(start());
  await provider.reached("thought");
  await call("nudge", "paint", "Mind the cat.");
  await call("send", "paint", "And the dog.");
  await call("triggers", "paint", "--add", '{"type":"delayed","config":{"delay_seconds":9999},"action":"Look again"}');
  await call("pause", "paint");
  await running.ended;
  await call("triggers", "paint", "--cancel", "1");
  await call("rm", "paint");
  await call("rm", "paint-house", "--undo");
  provider.release("thought");
  expect((await call("resume", "paint")).code).toBe(3);
  await call("stop", "paint");
  const given = jsonLines((await call("logs", "paint", "--json")).stdout).filter(({ actor }) => actor !== undefined);
  expect(given.every(({ actor }) => JSON.stringify(actor) === '{"kind":"human","via":"terminal"}')).toBe(true);
  expect([...new Set(given.map(({ type }) => type))]).toEqual(
    expect.arrayContaining([
      ...["agent.created", "human.nudge", "message.sent", "trigger.created", "agent.paused", "trigger.cancelled"],
      ...["agent.archived", "agent.restored", "agent.started", "agent.stopped"],
    ]),
  );
});

test("a process that cannot be joined, as one of an older version, is named, with what to do", async () => {
  await scripted([]);
  const { folder } = options();
  const home = join(folder, "home");
  const store = await openStore({ root: home, clock: { now: Date.now } });
  store.announce({ command: "agiraph run" });
  const { code, stderr } = await agiraph(shed(), options());
  await store.close();
  expect({ code, stderr: stderr.replace(/since [\d-]+ [\d:]+/, "since THEN") }).toEqual({
    code: 1,
    stderr:
      `✗ The home ${home} is in use by pid ${process.pid} (agiraph run, since THEN), which other commands cannot join: ` +
      `it is an older version of Agiraph, or could not open a port. Let it end, or stop it (Ctrl-C in its terminal, or kill ${process.pid}). ` +
      "Or give this one a home of its own with --home DIR.\n",
  });
});

test("a process that is still starting is named as such", async () => {
  await scripted([]);
  const home = join(options().folder, "home");
  const store = await openStore({ root: home, clock: { now: Date.now } });
  const { code, stderr } = await agiraph(["serve", "--port", "0"], options());
  await store.close();
  expect({ code, stderr: stderr.replace(/since [\d-]+ [\d:]+/, "since THEN") }).toEqual({
    code: 1,
    stderr:
      `✗ The home ${home} is in use by pid ${process.pid} (since THEN), which is starting or about to end. ` +
      `Try again in a few seconds. If it does not end: kill ${process.pid}. Or give this one a home of its own with --home DIR.\n`,
  });
});

function started(process: CliProcess): CliProcess {
  onTestFinished(() => process.signal("SIGKILL"));
  return process;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
