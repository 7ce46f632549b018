import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkoutScript, cloneScript, commitScript, snapshotScript } from "../../src/repository/sandboxed-git.ts";
import { World } from "../../src/repository/testing/world.ts";
import { sandbox, skipped } from "../try-sandbox.ts";

/**
 * The scripts run git in a folder that a worker wrote, and so run the worker's code: in the sandbox, where it can neither
 * leave a mark outside nor read what is there. Outside the sandbox each of these clones does, which is the control.
 */
interface Hostile {
  make: (node: Node) => void;
  /** What it leaves or brings along outside the sandbox. */
  harm?: "mark" | "secret";
}

const CLONES: Record<string, Hostile> = {
  "a clean filter": {
    make: (node) => {
      node.config("filter.evil.clean", `${node.mark}; cat`);
      node.write(".gitattributes", "* filter=evil\n");
    },
  },
  "a process filter": {
    make: (node) => {
      node.config("filter.evil.process", node.mark);
      node.write(".gitattributes", "* filter=evil\n");
    },
  },
  "a setting in an included file": {
    make: (node) => {
      node.config("include.path", join(node.folder, "included"));
      node.write("included", `[filter "evil"]\n\tclean = ${node.mark}\n`);
      node.write(".gitattributes", "* filter=evil\n");
    },
  },
  "a .git that leads to the person's repository": {
    make: (node) => {
      rmSync(join(node.folder, ".git"), { recursive: true });
      symlinkSync(join(node.world.person, ".git"), join(node.folder, ".git"));
    },
    harm: "secret",
  },
  "a .git file that leads to the person's repository": {
    make: (node) => {
      rmSync(join(node.folder, ".git"), { recursive: true });
      node.write(".git", `gitdir: ${node.world.person}/.git\n`);
    },
    harm: "secret",
  },
  "objects of the person's repository": {
    make: (node) => {
      node.write(".git/objects/info/alternates", `${node.world.person}/.git/objects\n`);
      node.write(".git/refs/heads/node-1", `${node.secret}\n`);
    },
    harm: "secret",
  },
  "a linked file of the person's": {
    make: (node) => {
      const target = join(node.world.person, ".git/refs/heads/private");
      rmSync(join(node.folder, ".git/refs/heads/node-1"));
      symlinkSync(target, join(node.folder, ".git/refs/heads/node-1"));
      node.write(".git/objects/info/alternates", `${node.world.person}/.git/objects\n`);
    },
    harm: "secret",
  },
};

test.skipIf(skipped)(
  "a clone, a commit and a checkout work in the sandbox, with the agent's repository read-only",
  async () => {
    await using world = await World.open();
    const node = await Node.open(world);
    node.write("new.txt", "new\n");

    const said = await node.inSandbox(node.commitScript);

    expect(said).toMatch(/^HEAD [0-9a-f]{40}$/);
    const commit = said.slice("HEAD ".length);
    expect(await node.agent.receive(node.bundle, "node-1")).toEqual({ ok: true, refs: { HEAD: commit } });
    mkdirSync(join(world.path, "sandboxed/fresh"));
    const folder = join(world.path, "sandboxed/fresh");
    const checkout = checkoutScript({ repository: node.agent.dir, folder, commit });
    expect(await node.inSandbox(checkout)).toBe(`READY ${commit}`);
    expect(readdirSync(folder).sort()).toEqual([".git", "new.txt", "readme.md", "src"]);
    expect(await node.inSandbox(`touch ${node.agent.dir}/x 2>&1; echo over`)).toBe("over");
    expect(existsSync(join(node.agent.dir, "x"))).toBe(false);
  },
);

test.skipIf(skipped).each(Object.entries(CLONES))(
  "%s of a clone does nothing outside the sandbox; without it, it does",
  async (_, { make, harm = "mark" }) => {
    await using world = await World.open();
    const node = await Node.open(world);
    node.write("new.txt", "new\n");
    make(node);
    const before = world.state("person");

    for (const script of [node.commitScript, node.snapshotScript]) {
      await node.inSandbox(script);
      expect(node.hasMark()).toBe(false);
      expect(await node.bringsSecret()).toBe(false);
    }
    expect(world.state("person")).toEqual(before);

    for (const script of [node.commitScript, node.snapshotScript]) node.unguarded(script);
    expect(harm === "mark" ? node.hasMark() : await node.bringsSecret()).toBe(true);
  },
);

test("what a worker names its branch, message or files is never run by a script", async () => {
  await using world = await World.open();
  const evil = [
    `$(touch ${world.path}/canary)`,
    `\`touch ${world.path}/canary\``,
    `'; touch ${world.path}/canary; '`,
    "-x",
  ];
  for (const [at, words] of evil.entries()) {
    const { agent, base } = await world.created();
    const folder = join(world.path, `node ${at} ${words.replaceAll("/", "")}`);
    mkdirSync(folder);
    const bundle = join(world.path, `${at}.bundle`);
    const names = { name: `Al${words}`, email: words };
    const run = (script: string) => execFileSync("/bin/sh", ["-c", script], { env: world.env }).toString().trim();
    run(cloneScript({ repository: agent.dir, folder, branch: "work", commit: base, ...names }));
    writeFileSync(join(folder, `f${words.replaceAll("/", "")}\n`), "x\n");
    expect(run(commitScript({ folder, message: words, bundle, base }))).toMatch(/^HEAD [0-9a-f]{40}$/);
    expect(run(snapshotScript({ folder, message: words, bundle, base }))).toMatch(/^SNAPSHOT [0-9a-f]{40}$/);
    expect(world.has("canary")).toBe(false);
    // The control: as a word of a shell each but the last would run.
    spawnSync("/bin/sh", ["-c", `echo '' ${words.replace(/^'|'$/g, "")}`], { env: world.env });
    expect(world.has("canary")).toBe(words !== "-x");
    rmSync(join(world.path, "canary"), { force: true });
    renameSync(agent.dir, join(world.path, `agent-${at}`));
  }
});

/** A node's clone in a folder that the sandbox may write; the person has a branch that the base does not reach. */
class Node {
  readonly world: World;
  readonly folder: string;
  readonly bundle: string;
  readonly agent: Awaited<ReturnType<World["created"]>>["agent"];
  readonly secret: string;
  readonly #base: string;

  private constructor(world: World, { agent, base }: Awaited<ReturnType<World["created"]>>, secret: string) {
    this.world = world;
    this.agent = agent;
    this.secret = secret;
    this.#base = base;
    this.folder = join(world.path, "sandboxed/node");
    this.bundle = join(world.path, "sandboxed/node.bundle");
  }

  static async open(world: World): Promise<Node> {
    world.plain("person", "checkout", "-qb", "private");
    world.write("person/secret.txt", "a secret\n");
    world.plain("person", "add", "-A");
    world.plain("person", "commit", "-qm", "secret");
    const secret = world.plain("person", "rev-parse", "HEAD");
    world.plain("person", "checkout", "-q", "main");
    const node = new Node(world, await world.created(), secret);
    mkdirSync(node.folder, { recursive: true });
    mkdirSync(join(world.path, "marks"));
    const [repository, folder, commit] = [node.agent.dir, node.folder, node.#base];
    const names = { name: "Alice", email: "alice@example.com" };
    const script = cloneScript({ repository, folder, branch: "node-1", commit, ...names });
    expect(await node.inSandbox(script)).toBe(`READY ${commit}`);
    world.plain("person", "checkout", "-q", "private");
    return node;
  }

  get commitScript(): string {
    return commitScript({ folder: this.folder, message: "work", bundle: this.bundle, base: this.#base });
  }

  get snapshotScript(): string {
    return snapshotScript({ folder: this.folder, message: "saved", bundle: this.bundle, base: this.#base });
  }

  /** Leaves a mark outside, without an error where it cannot. */
  get mark(): string {
    return `touch ${this.world.path}/marks/mark 2>/dev/null || true`;
  }

  hasMark(): boolean {
    return existsSync(join(this.world.path, "marks/mark"));
  }

  config(name: string, value: string): void {
    this.world.sh("sandboxed/node", `git config ${name} '${value}'`);
  }

  write(path: string, content: string): void {
    this.world.write(`sandboxed/node/${path}`, content);
  }

  /** The last line of what it said. */
  async inSandbox(command: string): Promise<string> {
    const root = join(this.world.path, "sandboxed");
    const { output } = await sandbox.run({
      command,
      cwd: root,
      binds: { write: [root], read: [this.agent.dir], hide: [] },
      env: {},
      timeoutMs: 60_000,
      signal: new AbortController().signal,
    });
    return output.trim().split("\n").at(-1) ?? "";
  }

  /** With all the rights of the person. */
  unguarded(command: string): void {
    spawnSync("/bin/sh", ["-c", command], { env: this.world.env, cwd: this.folder });
  }

  /** Whether the bundle has the person's other commit in it. */
  async bringsSecret(): Promise<boolean> {
    if (!existsSync(this.bundle)) return false;
    await this.agent.receive(this.bundle, "node-1");
    return (await this.agent.commitOf(this.secret)) !== undefined;
  }
}
