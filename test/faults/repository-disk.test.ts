import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  AgentRepository,
  cloneScript,
  commitScript,
  deliverBranch,
  Git,
  inspectRepository,
  snapshotScript,
} from "../../src/repository/index.ts";
import { BRANCH, World } from "../../src/repository/testing/world.ts";
import { type SmallDisk, smallDisk } from "./full-disk.ts";

/**
 * The disk is full in the middle of each step, with a little more room at each try until there is enough: what fails says
 * so, changes no ref and loses no object, and the same call succeeds as soon as it fits.
 */
const canMount = await smallDisk(1).then(async (disk) => {
  if ("why" in disk) return disk.why;
  await disk[Symbol.asyncDispose]();
  return undefined;
});
/** git has many words for it. */
const FULL = /no space left|out of diskspace|couldn't write|unable to write|failed to write|write error|I\/O error/i;
const title = (words: string) => `${words}${canMount === undefined ? "" : ` (skipped: ${canMount})`}`;
/** In kilobytes, of one try after the other. */
const ROOMS = [0, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512, 1024, 2048];

test.skipIf(canMount !== undefined)(
  title("a full disk in any step of the agent's repository: said, nothing is lost, and it goes on when there is room"),
  { timeout: 300_000 },
  async () => {
    await using world = await World.open();
    await using full = await FullDisk.open(world);
    const { agent } = full;
    const person = await world.inspect();
    world.write("person/readme.md", "changed\n".repeat(3000));

    const { base } = await full.withLittleRoom("create", () =>
      agent.create(person, person.head, BRANCH, { dirty: true }),
    );
    const bundles = full.bundles();
    const commits: string[] = [];
    for (const [name, bundle] of Object.entries(bundles)) {
      const received = await full.withLittleRoom(`receive ${name}`, () => agent.receive(bundle, name));
      if (!received.ok) throw new Error(received.reason);
      commits.push(Object.values(received.refs)[0] ?? "");
    }
    const [alice = "", bob = ""] = commits;
    const merged = await full.withLittleRoom("merge", () => agent.merge(alice, bob));
    if (merged.kind !== "clean") throw new Error(merged.text);
    const make = () => agent.commitTree(merged.tree, [alice, bob], `${"long ".repeat(2000)}\n`, { name: "Bob" }, 1);
    const commit = await full.withLittleRoom("commitTree", make);
    await full.withLittleRoom("keep", () => agent.keep("refs/agiraph/merges/a", commit));
    expect(await full.withLittleRoom("moveBranch", () => agent.moveBranch(BRANCH, base, commit))).toBe(true);
    const reverted = await full.withLittleRoom("revert", () => agent.revert(commit, { commit: alice, parent: base }));
    expect(reverted.kind).toBe("clean");
    const theirs = await full.withLittleRoom("fetchFrom", () => agent.fetchFrom(person, "main"));

    expect(theirs).toBe(person.head);
    expect(await agent.tip(BRANCH)).toBe(commit);
    for (const kept of [base, alice, bob, commit]) expect(await agent.isAncestor(kept, commit)).toBe(true);
    expect(Object.keys(full.failures).filter((step) => full.failures[step] === 0)).toEqual([]);
  },
);

test.skipIf(canMount !== undefined)(
  title("a full disk of the person's: said, nothing of theirs changes, and the branch comes when there is room"),
  async () => {
    await using world = await World.open();
    await using full = await FullDisk.open(world);
    const { agent, base } = await world.created();
    world.clone("alice");
    world.write("alice/noise", Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * at * 31) % 251)));
    const { bundle, commit } = world.commit("alice", "noise");
    await agent.receive(bundle, "node-1");
    const theirs = full.copyOfPerson();
    const before = full.state(theirs);

    const delivered = await full.withLittleRoom(
      "deliver",
      async () => {
        const found = await inspectRepository(theirs, world.git);
        if (!found.ok) throw new Error(found.reason);
        const result = await deliverBranch(found.repository, agent, BRANCH, commit, world.git);
        if (!result.ok) throw new Error(result.reason);
        return result;
      },
      () => expect(full.state(theirs)).toBe(before),
    );

    expect(delivered).toEqual({ ok: true, commit });
    expect(full.failures.deliver).toBeGreaterThan(0);
    expect(spawnSync("git", ["fsck", "--full", "--strict"], { cwd: theirs }).status).toBe(0);
    expect(base).not.toBe(commit);
  },
);

test.skipIf(canMount !== undefined)(
  title("a full disk in a node's clone: each script fails, the worker's files stay, and it succeeds later"),
  { timeout: 300_000 },
  async () => {
    await using world = await World.open();
    await using full = await FullDisk.open(world);
    const { agent, base } = await world.created();
    const folder = join(full.path, "node");
    const bundle = join(full.path, "node.bundle");
    mkdirSync(folder);
    const names = { name: "Alice", email: "alice@example.com" };
    const clone = cloneScript({ repository: agent.dir, folder, branch: "node-1", commit: base, ...names });
    const commit = commitScript({ folder, message: "work", bundle, base });
    const snapshot = snapshotScript({ folder, message: "saved", bundle, base });
    const noise = Buffer.from(Array.from({ length: 50_000 }, (_, at) => (at * at * 31) % 251));
    const isThere = () => expect(readFileSync(join(folder, "noise")).equals(noise)).toBe(true);

    expect(await full.withLittleRoom("clone", async () => script(world, clone), null)).toBe(`READY ${base}`);
    writeFileSync(join(folder, "noise"), noise);
    const alone = await full.withLittleRoom("snapshot of a file", async () => script(world, snapshot), isThere);
    expect(alone).toMatch(/^SNAPSHOT /);
    mkdirSync(join(folder, "inner/.git"), { recursive: true });
    writeFileSync(join(folder, "inner/noise"), noise.toReversed());
    const saved = await full.withLittleRoom("snapshot", async () => script(world, snapshot), isThere);
    expect(await agent.receive(bundle, "node-1")).toEqual({ ok: true, refs: expect.anything() });
    rmSync(join(folder, "inner"), { recursive: true });
    const said = await full.withLittleRoom("commit", async () => script(world, commit), isThere);
    expect(await agent.receive(bundle, "node-1")).toEqual({ ok: true, refs: expect.anything() });

    const inner = await agent.fileAt(saved.split(" ")[1] ?? "", "inner/noise", 100_000);
    expect(inner?.equals(noise.toReversed())).toBe(true);
    for (const id of [saved, said].map((line) => line.split(" ")[1] ?? "")) {
      expect((await agent.fileAt(id, "noise", 100_000))?.equals(noise)).toBe(true);
    }
    expect(Object.keys(full.failures).filter((step) => full.failures[step] === 0)).toEqual([]);
  },
);

/** Throws unless it ended well. */
function script(world: World, words: string): string {
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", words], { env: world.env });
  const last = String(stdout).trim().split("\n").at(-1) ?? "";
  if (status !== 0 || last.startsWith("REFUSED")) throw new Error(`${last} ${stderr}`);
  return last;
}

class FullDisk implements AsyncDisposable {
  /** How often each step failed before it succeeded. */
  readonly failures: Record<string, number> = {};
  readonly agent: AgentRepository;
  readonly path: string;
  readonly #disk: SmallDisk;
  readonly #world: World;

  private constructor(world: World, disk: SmallDisk) {
    this.#world = world;
    this.#disk = disk;
    this.path = disk.path;
    const temporary = join(disk.path, "temporary");
    mkdirSync(temporary);
    this.agent = AgentRepository.open(join(disk.path, "repo.git"), new Git({ env: world.env, temporary }));
  }

  static async open(world: World): Promise<FullDisk> {
    const disk = await smallDisk(16);
    if ("why" in disk) throw new Error(disk.why);
    return new FullDisk(world, disk);
  }

  /** By default `stays` sees that the agent's repository is as it was. */
  async withLittleRoom<T>(name: string, step: () => Promise<T>, stays?: (() => void) | null): Promise<T> {
    const refs = () => (stays === undefined ? this.#refs() : "");
    const before = refs();
    this.failures[name] = 0;
    for (const room of ROOMS) {
      writeFileSync(join(this.path, "room"), Buffer.alloc(room * 1024, 1));
      this.#disk.fill();
      rmSync(join(this.path, "room"));
      const result = await step().then(
        (value) => ({ value }),
        (error: Error) => ({ error }),
      );
      this.#disk.free();
      if ("value" in result) return result.value;
      this.failures[name] += 1;
      expect([name, room, result.error.message]).toEqual([name, room, expect.stringMatching(FULL)]);
      expect(refs()).toBe(before);
      stays?.();
    }
    throw new Error(`${name} did not succeed with ${ROOMS.at(-1)} KiB either`);
  }

  /** Two commits of the same base that change different files, with some noise. */
  bundles(): Record<string, string> {
    const { env, path } = this.#world;
    const run = (cwd: string, ...args: string[]) => {
      const { status, stdout, stderr } = spawnSync("git", args, { cwd: join(path, cwd), env });
      if (status !== 0) throw new Error(String(stderr));
      return String(stdout).trim();
    };
    const found: Record<string, string> = {};
    for (const name of ["alice", "bob"]) {
      run("", "clone", "-q", join(this.path, "repo.git"), name);
      const noise = Buffer.from(Array.from({ length: 40_000 }, (_, at) => (at * at * (name.length + 28)) % 251));
      this.#world.write(`${name}/src/${name}`, noise);
      run(name, "add", "-A");
      run(name, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", name);
      run(name, "bundle", "create", "-q", `../${name}.bundle`, "HEAD", `^origin/${BRANCH}`);
      found[name] = join(path, `${name}.bundle`);
    }
    return found;
  }

  copyOfPerson(): string {
    this.#world.sh("", `cp -a person '${this.path}/person'`);
    return join(this.path, "person");
  }

  /** All files but added objects, by content. */
  state(folder: string): string {
    const list = "find . -type f -not -path './.git/objects/*' -exec sha256sum {} + | sort -k 2";
    return String(spawnSync("/bin/sh", ["-c", list], { cwd: folder }).stdout);
  }

  #refs(): string {
    const options = { cwd: this.path, env: this.#world.env };
    const dir = ["--git-dir", this.agent.dir];
    const refs = spawnSync("git", [...dir, "for-each-ref"], options);
    if (refs.status !== 0) return "no repository";
    const check = spawnSync("git", [...dir, "fsck", "--full", "--strict", "--no-dangling"], options);
    expect([String(check.stderr), check.status]).toEqual(["", 0]);
    return String(refs.stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#disk[Symbol.asyncDispose]();
  }
}
