import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

/** Whatever this Node is, it says that it is an old one. */
const OLD = `data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.1.0" });`;
const HAND_OVER = join(import.meta.dirname, "right-node.ts");
/** One that cannot run the program itself, where this machine has one. */
const oldNode = ["/usr/bin/node", "/usr/local/bin/node", "/opt/homebrew/bin/node"].find((path) => {
  const [major = 99] = String(spawnSync(path, ["--version"], { encoding: "utf8" }).stdout ?? "")
    .replace("v", "")
    .split(".")
    .filter(Boolean)
    .map(Number);
  return major >= 18 && major < 22;
});

test("an old Node runs the program on the one beside it: words, folder, streams and exit code are kept", () => {
  const { entry, folder } = programWith('console.log(process.cwd(), process.argv.slice(2).join("+")); process.exit(7)');
  const { stdout, status } = spawnSync(process.execPath, ["--import", OLD, entry, "a b", "--c"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect([stdout.trim(), status]).toEqual([`${folder} a b+--c`, 7]);
});

test("a signal reaches the one that works, and its end is the end", async () => {
  const work = 'process.on("SIGTERM", () => process.exit(9)); setInterval(() => {}, 1000); console.log("ready")';
  const { entry } = programWith(work);
  const child = spawn(process.execPath, ["--import", OLD, entry], { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect(code).toBe(9);
});

test("when it is killed, the one that works is asked to end, and is killed if it does not", async () => {
  const say = (word: string) =>
    `process.on("SIGTERM", () => { console.log("${word}"); ${word === "kindly" ? "process.exit()" : ""} });`;
  const ends = ["kindly", "deaf"].map(async (word) => {
    const { entry } = programWith(`${say(word)} setInterval(() => {}, 1000); console.log(process.pid)`);
    const launcher = spawn(process.execPath, ["--import", OLD, entry], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    launcher.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    const closed = once(launcher, "close");
    const [pid] = await once(launcher.stdout, "data");
    onTestFinished(() => end(Number(pid)));
    launcher.kill("SIGKILL");
    // It holds the launcher's output: that closes when both are gone.
    await closed;
    return said.trim().split("\n").slice(1);
  });
  expect(await Promise.all(ends)).toEqual([["kindly"], ["deaf"]]);
});

test("when the one that works is killed, it ends with the code of that", async () => {
  const { entry } = programWith("setInterval(() => {}, 1000); console.log(process.pid)");
  const launcher = spawn(process.execPath, ["--import", OLD, entry], { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(launcher, "exit");
  const [pid] = await once(launcher.stdout, "data");
  process.kill(Number(pid), "SIGKILL");
  expect(await exit).toEqual([137, null]);
});

test.skipIf(!oldNode)(
  `a server under a real old Node (${oldNode ?? "skipped: none is installed"}) ends with its launcher`,
  async () => {
    const home = mkdtempSync(join(tmpdir(), "agiraph-old-node-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const main = join(import.meta.dirname, "../../../dist/bundle/main.js");
    const launcher = spawn(oldNode ?? "", [main, "serve", "--port", "0", "--home", home, "--json"], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env.PATH, HOME: home },
    });
    const closed = once(launcher, "close");
    const [line] = await once(launcher.stdout, "data");
    const { pid } = JSON.parse(String(line));
    onTestFinished(() => end(pid));
    expect(pid).not.toBe(launcher.pid);
    launcher.kill("SIGKILL");
    await closed;
    expect(JSON.parse(readFileSync(join(home, "home.lock.json"), "utf8"))).toMatchObject({
      pid,
      ended_ts: expect.any(Number),
    });
  },
);

test("where there is no other Node it says what is needed", () => {
  const { entry, folder } = programWith("");
  rmSync(join(folder, "node_modules"), { recursive: true });
  const { stderr, status } = spawnSync(process.execPath, ["--import", OLD, entry], { encoding: "utf8" });
  expect([stderr, status]).toEqual([
    expect.stringMatching(/^Agiraph needs Node 22\.18 or newer; this is 20\.1\.0 /),
    1,
  ]);
});

test("both programs are built so that they can be called", () => {
  const bundle = join(import.meta.dirname, "../../../dist/bundle");
  const mode = (name: string) => (statSync(join(bundle, name)).mode & 0o777).toString(8);
  expect([mode("main.js"), mode("tx.js")]).toEqual(["755", "755"]);
});

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended, as it should.
  }
}

/** A program in a folder of its own whose newer Node runs `work` instead of it. */
function programWith(work: string): { entry: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), "agiraph-right-node-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  mkdirSync(join(folder, "dist"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "work.mjs"), work);
  const node = join(folder, "node_modules/.bin/node");
  writeFileSync(node, `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(folder, "work.mjs")}" "$@"\n`, {
    mode: 0o755,
  });
  copyFileSync(HAND_OVER, join(folder, "dist/right-node.ts"));
  const entry = join(folder, "dist/main.js");
  writeFileSync(
    entry,
    `import { fileURLToPath } from "node:url"; import { runOnRightNode } from "./right-node.ts"; runOnRightNode("Agiraph", fileURLToPath(import.meta.url), 1);`,
  );
  return { entry, folder };
}
