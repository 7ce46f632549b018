import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

/** Whatever this Node is, it says that it is an old one. */
const OLD = `data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.1.0" });`;
const HAND_OVER = join(import.meta.dirname, "right-node.ts");

test("an old Node hands over to the one beside the program: words, folder, streams and exit code are kept", () => {
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
  const bundle = join(import.meta.dirname, "../../dist/bundle");
  const mode = (name: string) => (statSync(join(bundle, name)).mode & 0o777).toString(8);
  expect([mode("main.js"), mode("tx.js")]).toEqual(["755", "755"]);
});

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
    `import { fileURLToPath } from "node:url"; import { handOver } from "./right-node.ts"; handOver("Agiraph", fileURLToPath(import.meta.url));`,
  );
  return { entry, folder };
}
