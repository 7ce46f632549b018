import { execFile } from "node:child_process";
import { cp, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryHome } from "../../src/testing/index.ts";

/**
 * TARBALL-1. What is packed is whole: someone who installs it compiles against its types under the strictest settings,
 *            our declarations and those that they use included, and runs it.
 */
const ROOT = resolve(import.meta.dirname, "../..");

test("TARBALL-1: someone installs the package, compiles against it strictly, and runs it", {
  timeout: 240_000,
}, async () => {
  await using folder = await temporaryHome();
  const run = (command: string, ...words: string[]) => promisify(execFile)(command, words, { cwd: folder.path });
  const bin = (name: string) => join(ROOT, "node_modules/.bin", name);
  // What `npm pack` packs after a build; it takes long only where something has changed since the last one.
  await promisify(execFile)(bin("tsc"), ["-p", "tsconfig.build.json"], { cwd: ROOT });
  await run("npm", "pack", ROOT, "--ignore-scripts", "--silent");
  const installed = join(folder.path, "node_modules/agiraph");
  await mkdir(installed, { recursive: true });
  const [tarball = ""] = (await readdir(folder.path)).filter((name) => name.endsWith(".tgz"));
  await run("tar", "-xzf", tarball, "-C", installed, "--strip-components", "1");
  await symlink(join(ROOT, "node_modules"), join(installed, "node_modules"));
  await symlink(join(ROOT, "node_modules/@types"), join(folder.path, "node_modules/@types"));
  await writeFile(join(folder.path, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(folder.path, "tsconfig.json"), JSON.stringify({ compilerOptions: STRICTEST }));
  await cp(join(ROOT, "test/fixtures/consumer/consumer.ts"), join(folder.path, "consumer.ts"));
  await run(bin("tsc"), "-p", ".");
  const { stdout } = await run(process.execPath, "consumer.ts");
  expect(JSON.parse(stdout)).toEqual({
    status: "completed",
    heard: ["HI"],
    refused: 404,
    called: true,
    outcome: { kind: "finished", summary: "Done." },
  });
  expect(await readdir(join(installed, "examples"))).toContain("tool.ts");
});

const STRICTEST = {
  ...{ target: "es2024", lib: ["es2024", "esnext.disposable"], module: "nodenext", types: ["node"], noEmit: true },
  ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, noImplicitOverride: true },
  ...{ verbatimModuleSyntax: true, isolatedModules: true, noUnusedLocals: true, skipLibCheck: false },
};
