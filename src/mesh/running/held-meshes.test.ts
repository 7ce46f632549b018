import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { MeshConfig } from "../../protocol/index.ts";
import { MeshConfigError } from "../declaration/config-json.ts";
import { readMesh } from "../declaration/declared-mesh.ts";
import { buildPrompt, promptText } from "../declaration/prompt.ts";
import { isEndOf, ScriptedProject } from "../testing/scripted-project.ts";

const solo: MeshConfig = { mesh: "m", type: "persistent", agents: ["x/a"] };
const PROMPT = "meshes/agents/x/a/prompt.md";

const projects: ScriptedProject[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const project of projects.splice(0)) await project.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function made(trusted: Set<string>, ...more: MeshConfig[]): ScriptedProject {
  const project = new ScriptedProject({ configs: [solo, ...more], isTrusted: ({ hash }) => trusted.has(hash) });
  projects.push(project);
  return project;
}

function elsewhere(): string {
  const folder = mkdtempSync(join(tmpdir(), "elsewhere-"));
  folders.push(folder);
  writeFileSync(join(folder, "diary.md"), "Dear diary\n");
  return folder;
}

test("MESHES-5: what comes for a mesh that is not trusted waits in its inbox, and is worked on once it is", async () => {
  const trusted = new Set<string>();
  const project = made(trusted);
  mkdirSync(project.layout.queue({ mesh: "m", agent: null }, "inbox"), { recursive: true });
  project.send("m", "1.md", "# T\n");
  await project.meshes.open();
  const held = project.meshes.held.get("m");
  expect(project.facts).toEqual([{ type: "mesh.held", data: { mesh: "m", hash: held?.hash, changed: false } }]);
  await project.meshes.reload();
  expect([project.facts.length, project.told, [...project.meshes.meshes.keys()]]).toEqual([1, [], []]);
  trusted.add(held?.hash ?? "");
  await project.meshes.reload();
  await project.until(isEndOf("m", null, "1.md"));
  expect(project.meshes.held.size).toBe(0);
});

test("MESHES-5: a mesh that changes at work goes on with the content that was trusted; not trusted at all, it ends", async () => {
  const trusted = new Set<string>();
  const project = made(trusted);
  project.write(PROMPT, "Be good.\n");
  trusted.add(readMesh(project.layout, "m").hash);
  await project.meshes.open();
  project.write(PROMPT, "Be evil.\n");
  await project.meshes.reload();
  const { declared } = project.meshes.meshes.get("m") ?? {};
  const agent = declared?.agents.get("a");
  if (!declared || !agent) throw new Error("m is not at work");
  expect(promptText(buildPrompt(declared, agent))).toContain("Be good.");
  expect(project.facts.at(-1)).toMatchObject({ type: "mesh.held", data: { changed: true } });
  project.send("m", "1.md", "# T\n");
  await project.until(isEndOf("m", null, "1.md"));
  trusted.clear();
  await project.meshes.distrust("m");
  expect([[...project.meshes.meshes.keys()], project.closed]).toEqual([[], ["m/a"]]);
  expect(project.queues("m").complete).toEqual(["1.md"]);
});

test("SOURCE-2: what is run is what was hashed, whatever becomes of the files; one byte, mode or name makes it another", () => {
  const project = made(new Set());
  project.write(PROMPT, "Be good.\n");
  const before = readMesh(project.layout, "m");
  const [agent] = before.agents.values();
  if (!agent) throw new Error("a is declared");
  expect(readMesh(project.layout, "m").hash).toBe(before.hash);
  project.write(PROMPT, "Be good!\n");
  expect(promptText(buildPrompt(before, agent))).toContain("Be good.");
  const hashes = [before.hash, readMesh(project.layout, "m").hash];
  chmodSync(join(project.dir, PROMPT), 0o755);
  hashes.push(readMesh(project.layout, "m").hash);
  project.write("meshes/agents/x/a/task.md", "");
  hashes.push(readMesh(project.layout, "m").hash);
  expect(new Set(hashes).size).toBe(hashes.length);
});

test("SOURCE-1, SOURCE-3: links, fifos and what is too large are refused by name, and nobody waits", () => {
  const project = made(new Set());
  const secret = join(elsewhere(), "diary.md");
  const path = join(project.dir, PROMPT);
  const why = () => {
    try {
      readMesh(project.layout, "m");
      return "taken";
    } catch (error) {
      expect(error).toBeInstanceOf(MeshConfigError);
      return (error as Error).message;
    } finally {
      rmSync(path, { force: true, recursive: true });
    }
  };
  symlinkSync(secret, path);
  expect(why()).toMatch(`${PROMPT}: It is a link`);
  execFileSync("mkfifo", [path]);
  expect(why()).toMatch(`${PROMPT}: It is not a regular file.`);
  writeFileSync(path, Buffer.alloc(1024 * 1024 + 1, "x"));
  expect(why()).toMatch(`${PROMPT}: It is larger than`);
  writeFileSync(path, Buffer.from([0xff, 0xfe]));
  expect(why()).toMatch(`${PROMPT}: It is not UTF-8.`);
  expect(why()).toBe("taken");
  rmSync(join(project.dir, "meshes/agents/x"), { recursive: true });
  symlinkSync(elsewhere(), join(project.dir, "meshes/agents/x"));
  expect(why()).toContain("It is a link, or is reached by one.");
});

test("a project whose queues lead elsewhere: nothing there is moved, the link is named, and other meshes work", async () => {
  const trusted = new Set<string>();
  const project = made(trusted, { mesh: "n", type: "persistent", agents: ["x/b"] });
  for (const mesh of ["m", "n"]) trusted.add(readMesh(project.layout, mesh).hash);
  const target = elsewhere();
  mkdirSync(join(project.layout.mesh("m"), "msgs"), { recursive: true });
  symlinkSync(target, project.layout.queue({ mesh: "m", agent: null }, "inbox"));
  await project.meshes.open();
  expect([...project.meshes.meshes.keys()]).toEqual(["n"]);
  expect([...project.meshes.problems]).toEqual([
    [".ai/tx/mesh/m/msgs/inbox", expect.stringContaining(".ai/tx/mesh/m/msgs/inbox: it is a link")],
  ]);
  expect([readdirSync(target), readFileSync(join(target, "diary.md"), "utf8")]).toEqual([["diary.md"], "Dear diary\n"]);
});

test("a project whose .ai leads elsewhere is not opened, and nothing is written there", async () => {
  const project = made(new Set());
  const target = elsewhere();
  symlinkSync(target, join(project.dir, ".ai"));
  await expect(project.meshes.open()).rejects.toThrow(".ai: it is a link");
  expect(readdirSync(target)).toEqual(["diary.md"]);
});
