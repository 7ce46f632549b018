import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CliProcess } from "./testing/cli-process.ts";
import { lines, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, run, start, standing } = scriptedAgent();

/** It does something: a cycle that only ends would not be shown again, and the script counts what is shown. */
const cycle = (number: number) => ({
  calls: [
    { name: "list_files", args: { path: "" } },
    { name: "checkpoint", args: { summary: `Cycle ${number}` } },
  ],
});
const checkpoints = (words: string[]) => words.filter((line) => line.includes("Cycle"));
const told = (...numbers: number[]) => numbers.map((number) => `coordinator → reached a checkpoint: Cycle ${number}`);

test("run --mode infinite works in cycles; Ctrl-C stops it, resume goes on with the next cycle, and so does stop", async () => {
  // Held, so that no cycle comes between what is seen and what is asked for.
  const provider = await scripted([
    cycle(1),
    cycle(2),
    { hold: "third", ...cycle(3) },
    cycle(4),
    { hold: "fifth", ...cycle(5) },
  ]);
  const first = start("--mode", "infinite", "--every", "1s");
  await first.saw("Cycle 2");
  first.signal("SIGINT");
  const stopped = await first.ended;
  expect({ code: stopped.code, cycles: checkpoints(lines(stopped)), last: lines(stopped).at(-1) }).toEqual({
    code: 130,
    cycles: told(1, 2),
    last: "Stopped after 2 model calls, $0, M:SS. Continue with: agiraph resume ID",
  });
  expect(await standing()).toEqual(["stopped"]);

  provider.release("third");
  const second = new CliProcess(["resume", "paint"], options());
  await second.saw("Cycle 4");
  expect((await call("stop", "paint")).code).toBe(0);
  const ended = await second.ended;
  expect({ code: ended.code, cycles: checkpoints(lines(ended)) }).toEqual({ code: 130, cycles: told(3, 4) });
});

test("between the cycles of an infinite agent ls, show and workers say that it sleeps", async () => {
  await scripted([cycle(1)]);
  const working = start("--mode", "infinite", "--every", "1h");
  await working.saw("Cycle 1");
  const asleep = /asleep until (\d{4}-\d\d-\d\d )?\d\d:\d\d/;
  const said = async (command: string, line: string) => {
    const words = command === "ls" ? ["ls"] : [command, "paint"];
    const shown = (await call(...words)).stdout.split("\n").find((each) => each.startsWith(line)) ?? "";
    return asleep.test(shown) ? "asleep" : shown;
  };
  await expect.poll(() => said("workers", "coordinator")).toBe("asleep");
  expect([await said("ls", "paint-house"), await said("show", "Status")]).toEqual(["asleep", "asleep"]);
  expect(await standing()).toEqual(["working"]);
  working.signal("SIGINT");
  await working.ended;
});

test("how long it sleeps is said by --every or config.json, and only to an infinite agent", async () => {
  await scripted([{ hold: "never" }]);
  const refused = await Promise.all([
    run("--every", "10m"),
    run("--mode", "infinite", "--every", "often"),
    run("--mode", "infinite", "--every", "0s"),
  ]);
  expect(refused.map(({ code, stderr }) => [code, stderr.split("\n")[0]])).toEqual([
    [2, "✗ --every is for infinite agents (how long they sleep between cycles). Add --mode infinite."],
    [2, expect.stringContaining("It must be between a second and a year, e.g. 30s, 10m, 2h or 1d.")],
    [2, expect.stringContaining("It must be between a second and a year")],
  ]);
  expect((await call("ls")).stdout).toBe("");

  const { AGIRAPH_HOME = "" } = options().env ?? {};
  await mkdir(AGIRAPH_HOME, { recursive: true });
  await writeFile(join(AGIRAPH_HOME, "config.json"), '{"cycle_seconds": 600}');
  const slept = async (...words: string[]) => {
    const born = JSON.parse((await run("--mode", "infinite", "--detach", "--json", ...words)).stdout);
    await call("stop", born.id);
    const [created = ""] = (await call("logs", born.id, "--json")).stdout.split("\n");
    return JSON.parse(created).data.cycle_seconds;
  };
  expect([await slept(), await slept("--every", "2h")]).toEqual([600, 7200]);
});

test("an infinite agent whose provider is away is waited for, as in the server", async () => {
  const away = { fault: { status: 401, message: "bad key" } };
  await scripted([cycle(1), [away, cycle(2)]]);
  const working = start("--mode", "infinite", "--every", "1s");
  await working.saw("Cycle 2");
  working.signal("SIGINT");
  const ended = await working.ended;
  expect(ended.code).toBe(130);
  expect(ended.stderr).toMatch(/failed \(.*\); it tries again at \d\d:\d\d:\d\d\. Ctrl-C leaves\./);
});

test("--watch binds an infinite agent to a change, and only an infinite one", async () => {
  await scripted([{ hold: "never" }]);
  const refused = await Promise.all([
    run("--watch", "a.txt"),
    run("--mode", "infinite", "--watch", "../elsewhere.txt"),
    run("--mode", "infinite", "--watch", "http://"),
  ]);
  expect(refused.map(({ code, stderr }) => [code, stderr.split("\n")[0]])).toEqual([
    [2, "✗ --watch is for infinite agents (what wakes them when it changes). Add --mode infinite."],
    [2, expect.stringMatching(/--watch: \.\.\/elsewhere\.txt is outside of .*, the folder that the team may read\./)],
    [2, expect.stringContaining('is not a URL, a path or "cmd: a command"')],
  ]);
  const born = JSON.parse((await run("--mode", "infinite", "--detach", "--json", "--watch", "a.txt")).stdout);
  await call("stop", born.id);
  const [created = ""] = (await call("logs", born.id, "--json")).stdout.split("\n");
  expect(JSON.parse(created).data.watch).toEqual({ path: "project/a.txt" });
});
