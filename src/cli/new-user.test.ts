import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ProviderTurn } from "../testing/provider-turn.ts";
import { agiraph } from "./testing/cli-process.ts";
import { jsonLines } from "./testing/json-lines.ts";
import { askHuman, finish, lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, run, start } = scriptedAgent();

const onStdout = ({ stdout }: { stdout: string }) => jsonLines(stdout);

test("an agent has the name it is given, numbered where another has it; a wrong one is refused", async () => {
  await scripted([finish("one"), finish("two")]);
  const [first, second] = [await run("--name", "House of Blue"), await run("--name", "House of Blue")];
  expect([first, second].map((ended) => lines(ended).filter((line) => line.startsWith("!")))).toEqual([
    [],
    ["! There is an agent House of Blue already, so this one is called House of Blue-2."],
  ]);
  expect(onStdout(await call("ls", "--json")).map(({ name }) => name)).toEqual(["House of Blue-2", "House of Blue"]);
  // Commands that are suggested can be copied as they are.
  const { stderr } = await call("answer", "House of Blue-2", "yes");
  expect(stderr).toContain("To write to it: agiraph send 'House of Blue-2' \"your message\"");
  for (const wrong of ["", " ", "-x", "agent-abcd1234", "a\nb"]) {
    const refused = await run("--name", wrong);
    expect([wrong, refused.code]).toEqual([wrong, 2]);
  }
});

test("status and version say what everybody asks first", async () => {
  await scripted([askHuman({ question: "Which colour?" })]);
  const { version } = onStdout(await call("version", "--json"))[0] ?? {};
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
  for (const words of [["version"], ["-v"], ["--version"]]) expect((await call(...words)).stdout).toBe(`${version}\n`);
  expect(onStdout(await call("status", "--json"))).toEqual([
    { version, home: expect.any(String), process: null, agents: { total: 0, by_status: {} }, waiting: 0 },
  ]);
  await run();
  expect(onStdout(await call("status", "--json"))).toMatchObject([
    { process: null, agents: { total: 1, by_status: { waiting_for_human: 1 } }, waiting: 1 },
  ]);
  const { stdout } = await call("status");
  expect(stdout).toContain("none: no process is using this home");
  expect(stdout).toContain("1 waiting for you");
});

test("status names the process that works in the home", async () => {
  await scripted([{ hold: "thought", text: "late" }]);
  const running = start();
  await running.saw("Agent: paint-house");
  const [{ process }] = onStdout(await call("status", "--json")) as [{ process: unknown }];
  expect(process).toEqual({
    pid: running.pid,
    started_ts: expect.any(Number),
    command: "agiraph run",
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
  });
  running.signal("SIGINT");
  await running.ended;
});

test("a model that cannot be used is refused before anything goes on", async () => {
  await scripted([askHuman({ question: "Which colour?" })]);
  await run();
  const unusable = await call("resume", "paint", "--model", "nobody/knows");
  expect([unusable.code, unusable.stderr]).toEqual([2, expect.stringMatching(/^✗ --model: .*nobody\/knows/)]);
  const { folder, env } = options();
  const resumed = await agiraph(["resume", "paint"], { folder, env: { ...env, AGIRAPH_MODEL: "nobody/knows" } });
  expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringMatching(/^✗ AGIRAPH_MODEL: .*nobody\/knows/)]);
});

test("an agent goes on with another model, by --model and by AGIRAPH_MODEL", async () => {
  const provider = await scripted([askHuman({ question: "Which colour?" }), finish("done")]);
  await run();
  const resumed = await call("resume", "paint", "--model", "ollama/other");
  expect(resumed.code).toBe(3);
  // What is still open is asked again.
  expect(lines(resumed)).toEqual(expect.arrayContaining(["coordinator asks (question-1):", "  Which colour?"]));
  expect(lines(resumed)).toContain("! paint-house had ollama/test. To go back: --model ollama/test");
  const { folder, env } = options();
  const resumedBy = (AGIRAPH_MODEL: string) => agiraph(["resume", "paint"], { folder, env: { ...env, AGIRAPH_MODEL } });
  await resumedBy("ollama/third");
  // Meant for others: no program leads in place of a model.
  expect((await resumedBy("claude-code/sonnet")).code).toBe(3);
  expect((await call("answer", "paint", "blue")).code).toBe(0);
  expect(provider.requests.at(-1)?.body).toMatchObject({ model: "third" });
});

test("the inbox as JSON holds what the inbox shows", async () => {
  await scripted([
    { calls: [{ name: "send_message", args: { to: "human", content: "By the way." } }] },
    askHuman({ question: "Which colour?" }),
  ]);
  await run();
  const kinds = async (...more: string[]) => onStdout(await call("inbox", "--json", ...more)).map(({ kind }) => kind);
  expect(await kinds()).toEqual(["question"]);
  expect(await kinds("--unread")).toEqual(["message", "question"]);
});

test("an agent is erased for good: only when somebody says so, and nothing brings it back", async () => {
  await scripted([finish("one"), finish("two")]);
  await run("--name", "keep");
  await run("--name", "gone");
  const home = join(options().folder, "home");
  const unsure = await call("rm", "gone", "--purge");
  expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining("--purge --yes")]);
  const [{ id }] = onStdout(await call("ls", "--json")) as [{ id: string }];
  await writeFile(join(home, "damaged", `agents~${id}~events.jsonl@0-00`), "x").catch(() => {});
  const erased = await call("rm", "gone", "--purge", "--yes", "--json");
  expect([erased.code, onStdout(erased)]).toEqual([
    0,
    [{ id, name: "gone", erased: true, files: expect.any(Number), bytes: expect.any(Number) }],
  ]);
  expect(erased.stderr).toMatch(/^Erased for good: gone \(agent-\w+\), \d+ files, [\d.]+ KiB\.\n$/);
  expect(onStdout(await call("ls", "--all", "--json")).map(({ name }) => name)).toEqual(["keep"]);
  // What began with the name of another that is gone is not taken for it.
  const other = await call("rm", "kee", "--purge", "--yes");
  expect([other.code, other.stderr]).toEqual([
    1,
    expect.stringContaining('There is no agent "kee", only keep (agent-'),
  ]);
  expect(await readdir(join(home, "agents"))).toHaveLength(1);
  // Nor is it brought back for it.
  await call("rm", "keep");
  const back = await call("rm", "kee", "--undo");
  expect([back.code, back.stderr]).toEqual([
    1,
    expect.stringMatching(
      /There is no agent "kee", only keep \(agent-\w+\)\. To restore that one, give its whole name/,
    ),
  ]);
  expect(onStdout(await call("ls", "--json"))).toEqual([]);
  expect((await call("rm", "keep", "--undo")).code).toBe(0);
  expect(onStdout(await call("ls", "--json"))).toMatchObject([{ name: "keep" }]);
});

/** An agent that nobody runs: Alice, who has node-1, waits for an answer. */
async function agentAtRest(...next: ProviderTurn[]) {
  const order = { name: "create_work_node", args: { task: "Sign it.", deliverables: ["a.md"], worker: "Alice" } };
  const provider = await scripted({
    "Paint the house": [{ calls: [order] }, { text: "I wait." }, ...next],
    "Sign it.": [askHuman({ question: "With which pen?" })],
  });
  expect((await run()).code).toBe(3);
  return provider;
}

test("what is published for a paused agent, and not waited for, is said to come about when it is resumed", async () => {
  const provider = await agentAtRest({ text: "I wait for you.", hold: "thinking" });
  await call("send", "paint", "Hurry", "--detach");
  // Only who is at work can be paused.
  await provider.reached("thinking");
  expect((await call("pause", "paint")).code).toBe(0);
  await call("assign", "paint", "node-1", "human");
  expect((await call("show", "paint")).stdout).toContain("Agiraph asks (question-2):\n  node-1 is yours: Sign it.");
  const inbox = (await call("inbox")).stdout;
  expect(inbox).toContain("? paint-house · Agiraph · question-2");
  const [, folder = ""] = /Put the files into (\S+),/.exec(inbox) ?? [];
  await writeFile(join(folder, "a.md"), "me");
  const { code, stdout, stderr } = await call("publish", "paint", "node-1", "--detach");
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "",
    stderr: "paint-house: node-1 is published when paint-house is resumed; it is paused: agiraph resume paint-house\n",
  });
});

test("a node of an agent that does not run is given to you: it is in the inbox, and publishing it goes on", async () => {
  const provider = await agentAtRest({ text: "I wait for you." }, finish("Signed."));
  const given = await call("assign", "paint", "node-1", "human");
  expect([given.code, lines(given)[0]]).toEqual([0, expect.stringContaining("node-1 is yours.")]);
  const [, folder = ""] = /Put the files into (\S+),/.exec(given.stderr) ?? [];
  const inbox = (await call("inbox")).stdout;
  expect(inbox).not.toContain("With which pen?");
  expect(inbox).toContain(`Put the files into ${folder},`);
  await writeFile(join(folder, "a.md"), "me");
  const done = await call("publish", "paint", "node-1", "--summary", "I signed it.");
  expect([done.code, done.stdout.split("\n")[0]]).toEqual([0, "Signed."]);
  provider.assertDone();
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("Your human has taken over node-1.");
});

test("what failed in a finished agent is given to you all the same: publishing it goes on with a run that brings it in", async () => {
  const order = { name: "create_work_node", args: { task: "Sign it.", deliverables: ["a.md"], worker: "Alice" } };
  const provider = await scripted({
    "Paint the house": [
      { calls: [order] },
      { text: "I wait." },
      finish("Unsigned."),
      { text: "I wait for you." },
      finish("Signed after all."),
    ],
    "Sign it.": [{ calls: [{ name: "give_up", args: { reason: "No pen." } }] }],
  });
  expect((await run()).code).toBe(0);
  const given = await call("assign", "paint", "node-1", "human");
  expect([given.code, lines(given)[0]]).toEqual([
    0,
    expect.stringContaining("its work is now node-2. node-2 is yours."),
  ]);
  expect(onStdout(await call("ls", "--json"))).toMatchObject([{ status: "idle", open_questions: 1 }]);
  const [, folder = ""] = /Put the files into (\S+),/.exec((await call("inbox")).stdout) ?? [];
  await writeFile(join(folder, "a.md"), "me");
  const done = await call("publish", "paint", "node-2", "--summary", "I signed it.");
  expect([done.code, done.stdout.split("\n")[0]]).toEqual([0, "Signed after all."]);
  provider.assertDone();
});

test("a node of an agent that does not run is cancelled, and the coordinator hears why when it goes on", async () => {
  const provider = await agentAtRest(finish("Done without it."));
  const cancelled = await call("cancel", "paint", "node-1", "Nobody needs it.");
  expect([cancelled.code, lines(cancelled)[0]]).toEqual([0, "paint-house (ID): node-1 is cancelled."]);
  const resumed = await call("resume", "paint");
  expect([resumed.code, resumed.stdout.split("\n")[0]]).toEqual([0, "Done without it."]);
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("Nobody needs it.");
});

test("while somebody works in the home nothing is erased", async () => {
  await scripted([{ hold: "thought", text: "late" }]);
  const running = start();
  await running.saw("Agent: paint-house");
  const refused = await call("rm", "paint-house", "--purge", "--yes");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`pid ${running.pid} (agiraph run)`)]);
  running.signal("SIGINT");
  await running.ended;
});

test("who mistypes an agent or a node is told the nearest", async () => {
  await scripted([askHuman({ question: "Which colour?" })]);
  await run();
  expect((await call("show", "pant-house")).stderr).toContain(
    'There is no agent "pant-house". Did you mean "paint-house"?',
  );
  expect((await call("publish", "Paint", "node-9")).stderr).toContain(
    'paint-house has no node "node-9". There are none yet.',
  );
});
