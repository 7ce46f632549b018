import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { temporaryHome } from "../testing/temporary-home.ts";
import { isDocument, open, openerIn } from "./commands/open.ts";
import { Terminal } from "./terminal.ts";
import { askHuman, finish, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, call, run, start, options } = scriptedAgent();
const write = (path: string) => ({ calls: [{ name: "write_file", args: { path, content: "Blue.\n" } }] });
const painted = { calls: [{ name: "finish", args: { summary: "Painted.", files: ["output/house.md"] } }] };

test("open prints where the result is; what has none yet is refused with what to look at", async () => {
  await scripted([askHuman({ question: "Which colour?" }), write("output/house.md"), painted]);
  await run();
  const early = await call("open", "paint");
  expect([early.code, early.stdout]).toEqual([1, ""]);
  expect(early.stderr).toBe("✗ paint-house has no result yet: it waits for you. See: agiraph inbox\n");

  const ended = await call("answer", "paint", "blue");
  const { dir } = JSON.parse((await call("show", "paint", "--json")).stdout);
  const path = join(dir, "runs/run-1/output/house.md");
  // What the coordinator wrote itself is listed at the end and by show.
  expect(ended.stdout).toContain(`Painted.\n\n${path}\n`);
  expect((await call("show", "paint")).stdout).toContain(`\nResults\n${path}\n`);
  expect(await call("open", "paint")).toEqual({ code: 0, stdout: `${path}\n`, stderr: "" });
  expect(JSON.parse((await call("open", "paint", "--json")).stdout)).toMatchObject({
    name: "paint-house",
    results: [{ name: "output/house.md", path }],
    opened: null,
  });
});

test("of an agent that does not work open says so, with the command to continue", async () => {
  const provider = await scripted([{ hold: "painted", ...finish("Painted.") }]);
  const running = start();
  await provider.reached("painted");
  const said = async () => (await call("open", "paint")).stderr.replace(/agent-\w+/, "ID");
  const seen = [await said()];
  running.signal("SIGKILL");
  await running.ended;
  seen.push(await said());
  await call("stop", "paint");
  seen.push(await said());
  expect(seen.map((words) => words.replace("✗ paint-house has no result yet: ", ""))).toEqual([
    "it is working. See: agiraph show ID\n",
    "it was interrupted. Continue with: agiraph resume ID\n",
    "it is stopped. Continue with: agiraph resume ID\n",
  ]);
});

test("at a desktop's terminal the first document among the results is opened, and nothing that could be run", async () => {
  await using desk = await temporaryHome();
  await scripted([write("output/house.html"), write("output/house.md"), finish("Painted.")]);
  await run();
  const bin = join(desk.path, "bin");
  const seen = join(desk.path, "seen");
  await mkdir(bin);
  const opener = `#!/bin/sh\nprintf %s "$1" > ${seen}.tmp && mv ${seen}.tmp ${seen}\n`;
  for (const name of ["xdg-open", "open"]) await writeFile(join(bin, name), opener, { mode: 0o755 });
  const desktop = { ...options().env, PATH: bin, DISPLAY: ":0" };
  const printed = await openAt(desktop);
  const paths = printed.trim().split("\n");
  expect(paths.map((path) => path.replace(/^.*\/output\//, ""))).toEqual(["house.html", "house.md"]);
  await expect.poll(() => readFile(seen, "utf8").catch(() => "")).toBe(paths[1]);
  expect(["a.md", "a.PDF", "a.png", "a.html", "a.svg", "a.sh", "a.desktop", "a"].map(isDocument)).toEqual([
    ...[true, true, true, false, false, false, false, false],
  ]);
  expect([
    await openerIn({ ...desktop, DISPLAY: "" }, "linux"),
    await openerIn({ ...desktop, SSH_CONNECTION: "x" }, "darwin"),
    await openerIn({ ...desktop, PATH: desk.path }, "linux"),
    await openerIn(desktop, "linux"),
  ]).toEqual([undefined, undefined, undefined, join(bin, "xdg-open")]);
});

/** What it prints at somebody's terminal. */
async function openAt(env: Record<string, string>): Promise<string> {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
  const terminal = new Terminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() }, env, "/");
  await open({ terminal, home: env.AGIRAPH_HOME, json: false, packageRoot: "/" }, "paint");
  return `${stdout.read() ?? ""}`;
}
