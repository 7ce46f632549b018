import { expect, test } from "vitest";
import { lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, call, start } = scriptedAgent();
const RESET = { fault: { reset: "before_headers" } } as const;

test("whose provider cannot be reached is said by whoever looks, with what is tried; once it answers, it is not", async () => {
  const provider = await scripted([
    [RESET, RESET, { gate: "back", calls: [{ name: "finish", args: { summary: "Done." } }] }],
  ]);
  const running = start();
  // What is told is on disk.
  await running.saw("(connection)", 2);
  await provider.reached("back");
  const [ls, show, workers, json] = await Promise.all(
    [["ls"], ["show", "paint"], ["workers", "paint"], ["ls", "--json"]].map((words) => call(...words)),
  );
  expect(ls?.stdout).toMatch(/paint-house +agent-\w+ +model unreachable /);
  expect(show?.stdout).toContain("Status   model unreachable\n");
  expect(show?.stdout).toMatch(
    /\nIn trouble\ncoordinator: ollama\/test failed: .+\n {2}2 tries failed since \d\d:\d\d:\d\d; the next at \d\d:\d\d:\d\d\n/,
  );
  expect(workers?.stdout).toMatch(/^coordinator +model unreachable /m);
  expect(JSON.parse(json?.stdout ?? "").troubles).toMatchObject([
    { worker_id: "coordinator", reason: "connection", tries: 2 },
  ]);
  provider.release("back");
  expect((await running.ended).code).toBe(0);
  expect((await call("show", "paint")).stdout).not.toContain("In trouble");
});

test("a line that stands for one of many is no page, in a pipe too; the whole is in show and in --json", async () => {
  const long = `The walls are white. ${"They were grey. ".repeat(40)}End`;
  await scripted({
    "Paint the house": [
      { calls: [{ name: "create_work_node", args: { task: "Paint the door" } }] },
      { text: "I wait." },
      { calls: [{ name: "finish", args: { summary: long } }] },
    ],
    "Paint the door": [
      { calls: [{ name: "write_file", args: { path: "scratch/a.md", content: "x" } }] },
      { calls: [{ name: "publish", args: { summary: long } }] },
    ],
  });
  const running = start();
  expect(lines(await running.ended).at(-1)).toContain("is done");
  const [board, logs, show, json] = await Promise.all(
    [
      ["board", "paint"],
      ["logs", "paint"],
      ["show", "paint"],
      ["board", "paint", "--json"],
    ].map((words) => call(...words)),
  );
  for (const text of [board?.stdout, logs?.stdout]) {
    const widths = (text ?? "").split("\n").map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(200);
    expect(text).toContain("They were grey.");
    expect(text).toContain("…\n");
  }
  expect(show?.stdout).toContain(`\nResult\n${long}\n`);
  expect(json?.stdout).toContain(long);
});
