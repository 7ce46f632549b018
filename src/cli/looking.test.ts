import { expect, test } from "vitest";
import { agiraph } from "./testing/cli-process.ts";
import { lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, call, run, options } = scriptedAgent();

/** Many commands, one after the other. */
const LONG = { timeout: 120_000 };
const writes = (path: string) => ({ calls: [{ name: "write_file", args: { path, content: "hello\n" } }] });
const finish = { calls: [{ name: "finish", args: { summary: "Done.", learned: "" } }] };

test("files shows a folder of the agent as what it is, and says where an earlier run's are", LONG, async () => {
  await scripted([writes("notes/a.md"), finish, writes("notes/b.md"), finish]);
  expect((await run()).code).toBe(0);
  expect((await call("send", "paint", "Once more")).code).toBe(0);
  const agent = await call("files", "paint", "agent/");
  const [head = "", ...rest] = agent.stdout.split("\n");
  expect(head).toMatch(/\/agents\/agent-\w{8}$/);
  expect(rest.slice(0, 3).map((line) => line.replace(/ {2}\d.*$/, ""))).toEqual([
    "  GOAL.md",
    "  MEMORY.md",
    "  SOUL.md",
  ]);
  expect(lines(await call("files", "paint"))).toEqual([
    "This is run-2. The one before it: agiraph files ID agent/runs/run-1",
  ]);
  const earlier = await call("files", "paint", "notes/a.md");
  expect([earlier.code, lines(earlier)]).toEqual([
    1,
    ["✗ run-2 has no notes/a.md; an earlier run has: agiraph files ID agent/runs/run-1/notes/a.md"],
  ]);
  expect((await call("files", "paint", "agent/runs/run-1/notes/a.md")).stdout).toBe("hello\n");
});

test("logs shows what was asked for, and refuses what can match nothing", LONG, async () => {
  await scripted([writes("notes/a.md"), finish]);
  await run();
  const types = async (...words: string[]) => {
    const { stdout } = await call("logs", "paint", "--json", ...words);
    return [...new Set([...stdout.matchAll(/"type":"([a-z.]+)"/g)].map(([, type]) => type))];
  };
  expect(await types("--type", "tool")).toEqual(["tool.called", "tool.result"]);
  expect(await types("--type", "tool.result,run")).toEqual(["run.started", "tool.result", "run.finished"]);
  expect(await types("--worker", "Coordinator", "--type", "tool.called,run")).toEqual(["tool.called"]);
  expect(await types("--since", "2h", "--type", "run.started")).toEqual(["run.started"]);
  expect(await types("--since", "2999-01-01T00:00")).toEqual([]);
  const refused = async (...words: string[]) => {
    const { code, stderr } = await call("logs", "paint", ...words);
    return [code, stderr.split("\n")[0]];
  };
  expect(await refused("--worker", "Zoe")).toEqual([2, '✗ There is no worker "Zoe". Choose from: coordinator, human.']);
  expect(await refused("--node", "node-9")).toEqual([2, '✗ There is no node "node-9". There is none yet.']);
  expect(await refused("--type", "nodes")).toEqual([
    2,
    expect.stringContaining('no kind of fact "nodes". Did you mean node?'),
  ]);
  expect((await refused("--since", "yesterday"))[0]).toBe(2);
});

test("in a narrow window ls shows how an agent is doing rather than its id", LONG, async () => {
  await scripted([finish]);
  await run("--name", "a name of some length");
  const { folder, env } = options();
  const at = async (COLUMNS: string) => (await agiraph(["ls"], { folder, env: { ...env, COLUMNS } })).stdout;
  expect((await at("40")).replace(/ +/g, " ")).toMatch(/^NAME STATUS AGE.*\na name of some length completed /);
  expect(await at("80")).toMatch(/^NAME +ID +STATUS +AGE +COST +GOAL\n/);
});
