import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { World } from "../../src/repository/testing/world.ts";
import { both, call, script, startTeam } from "../../src/testing/index.ts";
import { agentsDir, whenInstalled } from "../outside/installed.ts";
import { skipped } from "../try-sandbox.ts";

/*
 * A team of four on the sources of a public package (a router: 80 files of tests, 13,000 lines): two features, a bug
 * fix, and a feature that conflicts. The package's own tests say after every move whether the branch is green.
 */

const PACKAGE = "find-my-way";
/** Beside the others, one process for these: they wait for each other, or count what others add. */
const APART = ["methods.test.js", "shorthands.test.js"];
const CHECKS = [
  `node -e "require('fs').readdirSync('test').filter((f) => f.endsWith('.test.js') && !${JSON.stringify(APART).replaceAll('"', "'")}.includes(f)).forEach((f) => require('./test/' + f))"`,
  ...APART.map((name) => `node test/${name}`),
];

/** As the sandbox has it. */
const PATH = "/usr/local/bin:/usr/bin:/bin";
const hasNode = spawnSync("node", ["--version"], { env: { PATH } }).status === 0;
const test =
  hasNode && skipped === ""
    ? whenInstalled("router", PACKAGE, "proxyquire", "rfdc")
    : whenInstalled("router", "node for commands");

const modules = () => join(agentsDir(), "router/node_modules");
const edited = (path: string, old: string, replacement: string) => call("edit_file", { path, old, new: replacement });
const wrote = (path: string, content: string) => call("write_file", { path, content });
const published = (summary: string) => call("publish", { summary });

const LIMIT = "this.maxParamLength = opts.maxParamLength";
const RESET = "Router.prototype.off = function off";
const testFile = (title: string, ...lines: string[]) =>
  `'use strict'\n\nconst { test } = require('node:test')\nconst FindMyWay = require('../')\n\ntest('${title}', t => {\n${lines.map((line) => `  ${line}\n`).join("")}})\n`;

/** The package as a person's repository; what it depends on is ignored. */
function repositoryOf(world: World): string {
  const dir = join(world.path, "router");
  world.init(dir);
  cpSync(join(modules(), PACKAGE), dir, { recursive: true });
  const needed = readdirSync(modules()).filter((name) => name !== PACKAGE && !name.startsWith("."));
  for (const name of needed) cpSync(join(modules(), name), join(dir, "node_modules", name), { recursive: true });
  for (const [path, content] of Object.entries({
    ".gitignore": "node_modules/\n",
    ".worktreeinclude": "node_modules/\n",
    ".agiraph/project.json": JSON.stringify({ checks: CHECKS.slice(0, 1) }),
  }))
    world.write(`router/${path}`, content);
  world.plain("router", "add", "-A");
  world.plain("router", "commit", "-qm", "Begin");
  return dir;
}

/** The package's own tests on a commit, by nobody of the team: null, or what they say. */
function testsOn(world: World, repository: string, commit: string): string | null {
  const dir = join(world.path, "outside");
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir);
  execFileSync("sh", ["-c", `git --git-dir="${repository}" archive ${commit} | tar -x -C "${dir}"`]);
  symlinkSync(modules(), join(dir, "node_modules"));
  const said = CHECKS.map((check) => spawnSync("sh", ["-c", check], { cwd: dir, env: { PATH }, encoding: "utf8" }));
  return said.find(({ status }) => status !== 0)?.stdout ?? null;
}

test("four workers on a real package: its own tests are green after every move, and accept --merge gives exactly that tree", async () => {
  await using world = await World.open();
  const project = repositoryOf(world);
  const held = Promise.withResolvers<void>();
  const named = (task: string, worker: string) => call("create_work_node", { task, worker });
  await using team = await startTeam({
    goal: "Two features and a fix",
    project,
    write: true,
    coordinator: script(
      both(named("Add count()", "Alice"), named("Add methods()", "Bob")),
      both(named("Fix maxParamLength: 0", "Carol"), named("Add isEmpty()", "Dave")),
      call("finish", { summary: "done" }).after(...[1, 2, 3, 4].map((n) => `node-${n} completed`)),
    ),
    workers: {
      Alice: script(
        call("grep", { pattern: "prototype\\.(reset|off) =", path: "index.js" }),
        edited(
          "index.js",
          RESET,
          `Router.prototype.count = function count () {\n  return this.routes.length\n}\n\n${RESET}`,
        ),
        wrote("test/count.test.js", testFile("count", "t.assert.equal(FindMyWay().count(), 0)")),
        published("count() says how many routes there are"),
      ),
      Bob: script(
        call("read_file", { path: "index.js", from: 990, lines: 12 }),
        edited(
          "index.js",
          "function escapeRegExp (string) {",
          "Router.prototype.methods = function methods () {\n  return [...new Set(this.routes.map((route) => route.method))]\n}\n\nfunction escapeRegExp (string) {",
        ),
        wrote(
          "test/used-methods.test.js",
          testFile(
            "methods",
            "const router = FindMyWay()",
            "router.on(['GET', 'PUT'], '/a', () => {})",
            "router.on('GET', '/b', () => {})",
            "t.assert.deepEqual(router.methods(), ['GET', 'PUT'])",
          ),
        ),
        published("methods() lists the methods that have routes"),
      ),
      // A bug that the package has: of 0 it makes 100.
      Carol: script(
        wrote(
          "test/no-params.test.js",
          testFile(
            "maxParamLength may be 0",
            "const router = FindMyWay({ maxParamLength: 0 })",
            "router.on('GET', '/:name', () => {})",
            "t.assert.equal(router.find('GET', '/a'), null)",
          ),
        ),
        edited("index.js", `${LIMIT} || 100`, `${LIMIT} || 0`),
        published("maxParamLength may be 0"),
        edited("index.js", `${LIMIT} || 0`, `${LIMIT} ?? 100`).after(
          "Not published: in a fresh checkout",
          "not ok 4 - parametric case insensitive",
        ),
        published("maxParamLength may be 0, and is 100 if it is left out"),
      ),
      Dave: script(
        edited(
          "index.js",
          RESET,
          `Router.prototype.isEmpty = function isEmpty () {\n  return this.routes.length === 0\n}\n\n${RESET}`,
        ),
        wrote("test/is-empty.test.js", testFile("isEmpty", "t.assert.ok(FindMyWay().isEmpty())")),
        published("isEmpty()").until(held.promise),
        call("bash", {
          command:
            "sed -i '/^<<<<<<<\\|^|||||||\\|^>>>>>>>/d; s/^=======$/}/' index.js && git add -A && grep -c 'prototype.count\\|prototype.isEmpty' index.js",
        }).after("Not published: your work conflicts", "index.js"),
        published("isEmpty() says whether there are no routes").after("2"),
      ),
    },
  });
  await team.until(({ repository }) => repository?.nodes["node-1"]?.state === "merged");
  held.resolve();

  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

  const facts = await team.facts();
  const moved = facts.filter((fact): fact is Extract<Fact, { type: "branch.moved" }> => fact.type === "branch.moved");
  expect(moved.map(({ data }) => data.node_id).toSorted()).toEqual(["node-1", "node-2", "node-3", "node-4"]);
  const repository = join(team.agent.log.dir, "repo.git");
  for (const { data } of moved)
    expect([data.node_id, testsOn(world, repository, data.to)]).toEqual([data.node_id, null]);
  const refused = facts.filter(
    (fact): fact is Extract<Fact, { type: "merge.refused" }> => fact.type === "merge.refused",
  );
  expect(refused.map(({ data }) => [data.node_id, data.why]).toSorted()).toEqual([
    ["node-3", "checks"],
    ["node-4", "conflict"],
  ]);
  // A control: what was refused for its checks fails outside too.
  const red = refused.find(({ data }) => data.why === "checks")?.data.commit ?? "";
  expect(testsOn(world, repository, red)).toContain("not ok");

  const { id } = team.agent.log;
  await team.runtime.execute({ do: "accept", id, how: "merge" }, { kind: "human", via: "terminal" });
  const tree = (dir: string, at: string) => world.plain(dir, "rev-parse", `${at}^{tree}`);
  const { tip = "" } = team.agent.now.repository ?? {};
  const shown = execFileSync("git", ["--git-dir", repository, "rev-parse", `${tip}^{tree}`], {
    encoding: "utf8",
  }).trim();
  expect([tree("router", "HEAD"), world.plain("router", "status", "--short")]).toEqual([shown, ""]);
  expect(world.plain("router", "write-tree")).toBe(shown);
}, 300_000);
