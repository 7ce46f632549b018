import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentRepository } from "./agent-repository.ts";
import { cloneScript, commitScript, mergeScript, snapshotScript } from "./sandboxed-git.ts";
import { BRANCH, World } from "./testing/world.ts";

/* What becomes of commits whose publish was refused, and of a merge that is begun in a clone. */

const MARK = "Agiraph-Node: node-1";

test("the commit of a refused publish is in no later history, and what is in it is (CLONE-6)", async () => {
  await using node = await Clone.open();
  node.write("a.txt", "wrong\n");
  const first = node.publish("First");
  node.write("a.txt", "right\n");

  const second = node.publish("Second", first);

  expect(node.git("log", "--format=%s|%P", second)).toBe(
    [`Second|${node.base}`, node.git("log", "--format=%s|%P", node.base)].join("\n"),
  );
  expect(node.git("show", "--name-status", "--format=", second)).toBe("A\ta.txt");
  // Nothing new: it is offered as it is, and stays what it is.
  expect(node.publish("Again", second, first)).toBe(second);
});

test("a worker's own commits stay, also those on top of a refused one, with author, date and words (CLONE-6)", async () => {
  await using node = await Clone.open();
  node.write("a.txt", "mine\n");
  node.git("add", "-A");
  node.git("commit", "-qm", "By hand");
  const mine = node.git("rev-parse", "HEAD");
  node.write("b.txt", "wrong\n");
  const first = node.publish("First", mine);
  node.write("b.txt", "right\n");
  node.git("add", "-A");
  const words = "Fix b\n\nparent of all\ntree of none\n";
  node.git("commit", "-qm", words, "--author", "Ann <ann@example.com>", "--date", "2026-01-02T03:04:05Z");
  const fixed = node.git("rev-parse", "HEAD");
  node.write("c.txt", "new\n");

  const second = node.publish("Second", first, mine);

  const subjects = node.git("log", "--format=%s", second, `^${node.base}`).split("\n");
  expect(subjects).toEqual(["Second", "Fix b", "By hand"]);
  const format = "--format=%an %ae %at%n%B%n%T";
  expect(node.git("log", "-1", format, `${second}^`)).toBe(node.git("log", "-1", format, fixed));
  expect(node.git("rev-parse", `${second}^^`)).toBe(mine);
});

test("a merge that was refused gives its parents to the next one (CLONE-6)", async () => {
  await using node = await Clone.open();
  const tip = await node.moved("theirs\n");
  node.write("readme.md", "mine\n");
  const first = node.publish("First");
  expect(node.merge(tip)).toBe("MERGING");
  expect(node.read("readme.md")).toBe(
    `<<<<<<< HEAD\nmine\n||||||| ${node.git("rev-parse", "--short", node.base)}\none\ntwo\nthree\n=======\ntheirs\n>>>>>>> origin/${BRANCH}\n`,
  );
  expect(node.commit("Second", first)).toBe("REFUSED Resolve the conflicts in: readme.md (then git add them).");
  node.write("readme.md", "both, wrong\n");
  node.git("add", "-A");
  const second = node.publish("Second", first);
  expect(node.git("log", "-1", "--format=%P", second)).toBe(tip);
  node.write("own.txt", "own\n");
  node.git("add", "-A");
  node.git("commit", "-qm", "By hand");
  const later = await node.moved("theirs, later\n", tip);
  expect(node.merge(later)).toBe("MERGING");
  node.write("readme.md", "both\n");
  node.git("add", "-A");

  const third = node.publish("Third", second, first);

  const parents = node.git("log", "-1", "--format=%P", third).split(" ");
  expect(parents.map((each) => node.git("log", "-1", "--format=%s %P", each))).toEqual([
    `By hand ${tip}`,
    `next ${tip}`,
  ]);
  expect(node.git("log", "--format=%s", third, `^${node.base}`)).not.toMatch(/First|Second/);
  node.write("readme.md", "both, right\n");
  const fourth = node.publish("Fourth", third, second, first);
  expect(node.git("log", "-1", "--format=%P", fourth).split(" ")).toEqual(parents);
});

test("a merge that was cut off is undone, with the files that git had written (CLONE-7)", async () => {
  await using node = await Clone.open();
  const tip = await node.moved("theirs\n");
  node.write("readme.md", "mine\n");
  const first = node.publish("First");
  // As a kill may leave it.
  node.write(".git/agiraph-half-merge", `${first}\n`);
  node.write("readme.md", "<<<<<<< HEAD\nmi");
  node.write("theirs.txt", "half");

  expect(node.clone()).toBe(`READY ${first}`);

  expect([node.read("readme.md"), node.git("status", "--porcelain")]).toEqual(["mine\n", ""]);
  node.write("mine.txt", "after it\n");
  expect(node.clone()).toBe(`READY ${first}`);
  expect(node.read("mine.txt")).toBe("after it\n");
  expect(node.merge(tip)).toBe("MERGING");
});

test("a snapshot of the clone does not save again what its publishes have brought", async () => {
  await using node = await Clone.open();
  node.write("a.txt", "wrong\n");
  const first = node.publish("First");
  node.write("a.txt", "right\n");
  const second = node.publish("Second", first);
  expect(node.snapshot(second, [first])).toBe("NOTHING");
  expect(node.snapshot(second, [])).toMatch(/^SNAPSHOT /);
});

class Clone implements AsyncDisposable {
  readonly base: string;
  readonly #world: World;
  readonly #agent: AgentRepository;

  private constructor(world: World, agent: AgentRepository, base: string) {
    this.#world = world;
    this.#agent = agent;
    this.base = base;
    mkdirSync(this.#folder);
    this.clone();
  }

  static async open(): Promise<Clone> {
    const world = await World.open();
    const { agent, base } = await world.created();
    return new Clone(world, agent, base);
  }

  get #folder(): string {
    return join(this.#world.path, "node");
  }

  /** A commit of the branch that others have made. */
  async moved(readme: string, from = this.base): Promise<string> {
    this.#world.clone(`other-${readme.length}`, from);
    this.#world.write(`other-${readme.length}/readme.md`, readme);
    const { commit, bundle } = this.#world.commit(`other-${readme.length}`, "next", from);
    await this.#agent.receive(bundle, "node-2");
    await this.#agent.keep(`refs/agiraph/work/node-2/${commit}`, commit);
    return commit;
  }

  clone(): string {
    const where = { repository: this.#agent.dir, folder: this.#folder, branch: "node-1", commit: this.base };
    return this.#run(cloneScript({ ...where, name: "Alice", email: "alice@example.com" }));
  }

  commit(message: string, ...refused: string[]): string {
    const { base } = this;
    const ours = { commits: refused, mark: MARK };
    const bundle = join(this.#world.path, "node.bundle");
    return this.#run(
      commitScript({ folder: this.#folder, message: `${message}\n\n${MARK}\n`, bundle, base, refused: ours }),
    );
  }

  publish(message: string, ...refused: string[]): string {
    const [word, commit = ""] = this.commit(message, ...refused).split(" ");
    expect(word).toBe("HEAD");
    return commit;
  }

  merge(tip: string): string {
    return this.#run(mergeScript({ folder: this.#folder, branch: BRANCH, tip }));
  }

  snapshot(base: string, kept: string[]): string {
    const bundle = join(this.#world.path, "saved.bundle");
    return this.#run(snapshotScript({ folder: this.#folder, message: "saved", bundle, base, kept }));
  }

  write(path: string, content: string): void {
    this.#world.write(`node/${path}`, content);
  }

  read(path: string): string {
    return this.#world.read(`node/${path}`);
  }

  git(...args: string[]): string {
    return this.#world.plain("node", ...args);
  }

  #run(script: string): string {
    const said = execFileSync("/bin/sh", ["-c", script], { env: this.#world.env, stdio: ["ignore", "pipe", "pipe"] });
    return said.toString().trim().split("\n").at(-1) ?? "";
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#world[Symbol.asyncDispose]();
  }
}
