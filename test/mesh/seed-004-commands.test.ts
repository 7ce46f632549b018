import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { tmuxSocket } from "../../src/mesh/terminal/tmux-server.ts";
import { withTmux } from "./terminals.ts";

const TX = join(import.meta.dirname, "../../dist/bundle/tx.js");
/** An agent as simple as can be: it ends whatever task it is given, and answers nothing else. */
const OBEDIENT = 'while read -r line; do case "$line" in *"[tx] Task"*) tx done "Done by $TX_AGENT." ;; esac; done';

/** A project with one mesh of two such agents in terminals, and `tx` as a process of its own for every word. */
class Scene implements AsyncDisposable {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), "tx-")));
  readonly project = join(this.dir, "project");
  readonly home = join(this.dir, "home");

  constructor() {
    const agents = ["core/first", "core/second"];
    const mesh = { mesh: "test", type: "persistent", agents, workflow: ["first", "second"] };
    this.#write("project/meshes/mesh-configs/test.json", mesh);
    for (const agent of ["first", "second"]) {
      const config = { name: agent, options: { program: "obedient", runs: "tmux" } };
      this.#write(`project/meshes/agents/core/${agent}/config.json`, config);
      this.#write(`project/meshes/agents/core/${agent}/prompt.md`, "You are {{agent}} of {{mesh}}.\n");
    }
    const programs = { obedient: { kind: "autonomous", command: ["sh", "-c", OBEDIENT] } };
    this.#write("home/config.json", { programs, server: { port: 0 } });
  }

  /** What it says on stdout as JSON; it must have ended well. */
  async tx(...words: string[]): Promise<unknown> {
    const { code, stdout, stderr } = await this.run(...words, "--json");
    expect([words.join(" "), code, stderr.includes("✗")]).toEqual([words.join(" "), 0, false]);
    return JSON.parse(stdout);
  }

  run(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const env = { PATH: process.env.PATH, HOME: this.dir, AGIRAPH_HOME: this.home };
    const child = spawn(process.execPath, [TX, ...words], {
      cwd: this.project,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
    return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...said })));
  }

  sessions(): string[] {
    try {
      const words = ["-S", tmuxSocket(this.home, this.project), "list-sessions", "-F", "#{session_name}"];
      return execFileSync("tmux", words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
        .trim()
        .split("\n");
    } catch {
      return [];
    }
  }

  files(path: string): string[] {
    const dir = join(this.project, ".ai/tx/mesh/test", path);
    return existsSync(dir) ? readdirSync(dir).toSorted() : [];
  }

  #write(path: string, content: object | string): void {
    mkdirSync(dirname(join(this.dir, path)), { recursive: true });
    writeFileSync(join(this.dir, path), typeof content === "string" ? content : JSON.stringify(content));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run("kill", "test");
    const holder = join(this.home, "home.lock.json");
    if (existsSync(holder)) {
      const { pid } = JSON.parse(readFileSync(holder, "utf8")) as { pid: number };
      process.kill(pid, "SIGTERM");
      await expect.poll(() => isAlive(pid), { timeout: 120_000 }).toBe(false);
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const LONG = { timeout: 180_000 };
const PATIENT = { timeout: 120_000 };

describe("System Architecture", () => {
  withTmux(
    "a file in the inbox of a mesh is worked on by agents in tmux, one after the other, to its end",
    LONG,
    async () => {
      await using scene = new Scene();
      await scene.tx("trust", "--terminals", "--yes");
      await scene.tx("start");
      const name = "0001-by-hand.md";
      const aside = join(scene.dir, name);
      writeFileSync(aside, "---\nfrom: human\nto: test\ntype: task\n---\n\n# By hand\n");
      execFileSync("mv", [aside, join(scene.project, ".ai/tx/mesh/test/msgs/inbox/")]);
      await expect.poll(() => scene.files("msgs/complete"), PATIENT).toEqual([name]);
      expect(scene.sessions().toSorted()).toEqual(["test-first", "test-second"]);
    },
  );
});

describe("Orchestration Commands", () => {
  test("the commands of the seed are there, with its arguments; a wrong one is said with what to do", async () => {
    await using scene = new Scene();
    const { stdout } = await scene.run("--help");
    for (const usage of [
      ...[
        "spawn [options] <mesh> [agent]",
        "start",
        "attach [options] [mesh] [agent]",
        "kill [options] <mesh> [agent]",
      ],
      ...["status [options] [mesh]", "stop", "prompt [options] <mesh> [agent]"],
    ]) {
      const [command = "", ...words] = usage.split(" ").filter((word) => word !== "[options]");
      const line = stdout.split("\n").find((one) => one.trim().startsWith(`${command} `)) ?? "";
      expect([usage, words.filter((word) => !line.includes(word))]).toEqual([usage, []]);
    }
    expect(await scene.run("spwan", "test")).toMatchObject({ code: 2, stderr: expect.stringContaining("spawn") });
  });
});

describe("CLI Commands (`lib/commands/`)", () => {
  withTmux(
    "start, spawn --init, status, attach, prompt, kill, stop, start again: the life of a mesh by tx",
    LONG,
    async () => {
      await using scene = new Scene();
      await scene.tx("trust", "--terminals", "--yes");
      // start: queues, watcher, configurations.
      expect(await scene.tx("start")).toMatchObject({ status: "working", meshes: [{ mesh: "test" }] });
      expect(scene.files("msgs")).toContain("inbox");
      // spawn: the session {mesh}-{agent}, its prompt built and kept, its first task sent.
      expect(await scene.tx("spawn", "test", "first", "--init", "task description")).toMatchObject({
        mesh: "test",
        agents: ["first"],
        message: expect.stringMatching(/^\d{10}-0001-task-description\.md$/),
      });
      expect(scene.sessions()).toEqual(["test-first"]);
      expect(scene.files("agents/first/prompts")).toEqual([expect.stringMatching(/^\d{10}(-\d+)?-prompt\.md$/)]);
      await expect.poll(() => scene.files("agents/first/msgs/complete").length, PATIENT).toBe(2);
      // status: all meshes, counts of queues, who is active.
      expect(await scene.tx("status", "test")).toMatchObject({
        meshes: [{ mesh: "test", agents: [{ name: "first" }, { name: "second", state: null }] }],
      });
      // attach: what a person's terminal is given.
      expect(await scene.tx("attach", "test", "first")).toMatchObject({
        command: ["tmux", "-S", tmuxSocket(scene.home, scene.project), "attach-session", "-t", "=test-first"],
      });
      // prompt: all sections.
      const { sections } = (await scene.tx("prompt", "test", "first")) as { sections: { title: string }[] };
      expect(sections.map(({ title }) => title)).toEqual(["Preamble", "Agent Prompt", "Workflow"]);
      // stop: nothing moves, everything stays; start goes on with it.
      await scene.tx("stop");
      await scene.tx("send", "test", "# While it is stopped");
      expect(scene.files("msgs/inbox")).toHaveLength(1);
      await scene.tx("start");
      await expect.poll(() => scene.files("msgs/complete").length, PATIENT).toBe(1);
      // kill: the session is gone, and what it has said is not.
      await scene.tx("kill", "test", "first");
      expect(scene.sessions()).not.toContain("test-first");
      expect(scene.files("agents/first/msgs/complete").length).toBe(4);
    },
  );
});
