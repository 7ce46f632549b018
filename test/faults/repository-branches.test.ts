import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact, FactOf, NodeId } from "../../src/protocol/index.ts";
import { World } from "../../src/repository/testing/world.ts";
import { lookAtHome } from "../../src/runtime/open-runtime.ts";
import { startProviderServer } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { branchesMind, CHECKS, type Piece, pieceIn } from "./branches-team.ts";
import { killRounds } from "./kill-rounds.ts";
import {
  type BeforeKill,
  configure,
  expectAcknowledgedFacts,
  factsOf,
  killAgainAndAgain,
  type Life,
  mulberry32,
} from "./killing.ts";

/**
 * The built program merges branches that are clean, in conflict, red, red together, or red on the target already, and is
 * killed again and again meanwhile.
 *
 * BRANCHES-1. After every move of the branch each check passes that passed before it.
 * BRANCHES-2. Each node comes in once, or comes back with its reason; none is left over.
 * BRANCHES-3. What came in stays in: every line and file of it is there at the end.
 * BRANCHES-4. Every commit that a fact names, and everything that a node left in its clone, is reachable from a ref.
 * BRANCHES-5. Nothing of the person's repository changes.
 */
const SOAK = process.env.AGIRAPH_SOAK !== undefined;
const BRANCHES = Number(process.env.AGIRAPH_BRANCHES ?? (SOAK ? 50 : 24));
const ROUNDS = killRounds("branches", 15, 20_261_119);

test.skipIf(skipped).each(ROUNDS)(
  `${BRANCHES} branches with $kills kills (seed $seed): green after every move, each in once or back with its reason ${skipped}`,
  { timeout: 3_600_000 },
  async ({ kills: KILLS, seed }) => {
    await using world = await World.open();
    prepare(world);
    const before = world.state("person");
    const home = join(world.path, "home");
    mkdirSync(home, { mode: 0o700 });
    let kills = 0;
    const respond = branchesMind(BRANCHES, () => kills < KILLS);
    await using provider = await startProviderServer({ respond, forget: true });
    await configure(home, provider.url, { max_concurrent: 12 });
    const random = mulberry32(seed);
    const killedIn: Record<string, number> = {};

    const flags = ["--write", "--project", world.person, "--base", BASE];
    const { agent, acknowledged } = await killAgainAndAgain(
      home,
      (killed) => (killed < KILLS ? someLife(random) : undefined),
      (killed) => (kills = killed),
      { flags, beforeKill: killer(random, killedIn) },
    );

    const store = await lookAtHome(home);
    const log = await store.open(agent);
    const facts = await log.read({ after: 0, limit: 1_000_000 });
    await store.close();
    expectAcknowledgedFacts(facts, acknowledged);
    // What a node left may be saved after that.
    expect(factsOf(facts, "agent.completed").length).toBe(1);
    const repository = new Repository(world, join(log.dir, "repo.git"), facts);
    repository.expectGreenAfterEveryMove();
    repository.expectEachOnce();
    repository.expectAllThere();
    repository.expectNothingLost();
    expect(
      readdirSync(log.dir)
        .filter((name) => name === ".transit")
        .flatMap((name) => readdirSync(join(log.dir, name))),
    ).toEqual([]);
    expect(world.state("person")).toEqual(before);
    console.log(
      `${kills} kills (seed ${seed}): ${repository.figures()}; killed while at work: ${JSON.stringify(killedIn)}`,
    );
  },
);

const BASE = "main";

function prepare(world: World): void {
  world.write("person/.agiraph/project.json", JSON.stringify({ checks: CHECKS }));
  world.write("person/broken", "red from the beginning\n");
  world.write("person/list.txt", "first\n");
  world.write("person/title.txt", "title\n");
  world.plain("person", "add", "-A");
  world.plain("person", "commit", "-qm", "third");
  world.write("person/readme.md", "stashed\n");
  world.plain("person", "stash", "push", "-q");
  world.write("person/readme.md", "changed\n");
}

/** Some while it recovers, some while a few are at work. */
function someLife(random: () => number): Life {
  if (random() < 0.15) return { facts: 0, lag: random() * 600 };
  return { facts: 1 + Math.floor(random() * 80), lag: random() * 60 };
}

/** The gits and scripts that a process has started, by what they do. */
function atWork(pid: number): string[] {
  return below(pid).flatMap((each) => {
    const words = wordsOf(each);
    const at = words.findIndex((word) => word === "git" || word.endsWith("/git"));
    if (at < 0) return [];
    const command = words
      .slice(at + 1)
      .find((word, index, rest) => /^[a-z]/.test(word) && !["-c", "--git-dir", "-C"].includes(rest[index - 1] ?? ""));
    return [`git ${command}`];
  });
}

function below(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
    return children.flatMap((child) => [child, ...below(child)]);
  } catch {
    return [];
  }
}

function wordsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** Two of three times it waits until a git is at work. */
function killer(random: () => number, killedIn: Record<string, number>): BeforeKill {
  let patience = 0;
  return (pid, looks) => {
    if (looks === 0) patience = random() < 0.67 ? 300 : 0;
    const names = atWork(pid);
    if (names.length === 0 && looks < patience) return false;
    for (const name of names.length > 0 ? new Set(names) : ["no git"]) killedIn[name] = (killedIn[name] ?? 0) + 1;
    return true;
  };
}

class Repository {
  readonly #world: World;
  readonly #dir: string;
  readonly #facts: readonly Fact[];
  readonly #moves: FactOf<"branch.moved">["data"][];
  readonly #pieces: ReadonlyMap<NodeId, Piece>;

  constructor(world: World, dir: string, facts: readonly Fact[]) {
    this.#world = world;
    this.#dir = dir;
    this.#facts = facts;
    this.#moves = factsOf(facts, "branch.moved").map(({ data }) => data);
    this.#pieces = new Map(factsOf(facts, "node.created").map(({ data }) => [data.node_id, pieceIn(data.task)]));
  }

  /** BRANCHES-1. By checking out each commit ourselves. */
  expectGreenAfterEveryMove(): void {
    const [opened] = factsOf(this.#facts, "repository.opened");
    let tip = opened?.data.base ?? "";
    let red = this.#redAt(tip);
    expect(red).toEqual([CHECKS[0]]);
    for (const { from, to } of this.#moves) {
      expect(from).toBe(tip);
      expect(this.#git("merge-base", from, to)).toBe(from);
      const now = this.#redAt(to);
      expect([to, now.filter((check) => !red.includes(check))]).toEqual([to, []]);
      [tip, red] = [to, now];
    }
    expect(red).toEqual([]);
    expect(this.#git("rev-parse", `refs/heads/${opened?.data.branch}`)).toBe(tip);
  }

  /** BRANCHES-2. */
  expectEachOnce(): void {
    const ended = [...factsOf(this.#facts, "node.completed"), ...factsOf(this.#facts, "node.failed")];
    expect(ended.map(({ data }) => data.node_id).sort()).toEqual([...this.#pieces.keys()].sort());
    expect(this.#pieces.size).toBeGreaterThanOrEqual(BRANCHES);
    for (const { data } of ended) {
      const moves = this.#moves.filter(({ node_id }) => node_id === data.node_id).length;
      const piece = this.#pieces.get(data.node_id);
      if ("summary" in data) expect([piece, moves]).toEqual([piece, 1]);
      else {
        expect([piece, moves]).toEqual([piece, 0]);
        const { outcome } = data;
        expect([piece, "error" in outcome ? outcome.error : outcome]).toEqual([
          piece,
          expect.stringMatching(REASONS[piece?.kind ?? ""] ?? "no reason is right"),
        ]);
      }
    }
  }

  /** BRANCHES-3. */
  expectAllThere(): void {
    const tip = this.#moves.at(-1)?.to ?? "";
    const list = this.#git("show", `${tip}:list.txt`).split("\n");
    const files = this.#git("ls-tree", "-r", "--name-only", tip).split("\n");
    for (const { node_id } of this.#moves) {
      const piece = node_id && this.#pieces.get(node_id);
      if (!piece) throw new Error("a move without a node");
      const { name, kind } = piece;
      if (kind === "appends") expect([name, list.filter((line) => line === name).length]).toEqual([name, 1]);
      const there = files.filter((file) => file === `parts/${name}` || file.startsWith(`parts/${name}-`));
      if (kind !== "insists" && !kind.endsWith("twin")) expect([piece, there.length]).toEqual([piece, 1]);
    }
    expect(list.filter((line) => /^[<=>|]{7}/.test(line))).toEqual([]);
  }

  /** BRANCHES-4. */
  expectNothingLost(): void {
    const reached = new Set(this.#git("rev-list", "--all").split("\n"));
    const named = this.#facts.flatMap(({ data }) => commitsIn(data));
    expect(named.filter((commit) => !reached.has(commit))).toEqual([]);
    expect(this.#git("fsck", "--full", "--strict", "--no-dangling")).toBe("");
    const kept = new Map(factsOf(this.#facts, "snapshot.kept").map(({ data }) => [data.node_id, data]));
    for (const [node, { name, kind }] of this.#pieces) {
      if (kind !== "gives up") continue;
      const { ref, commit } = kept.get(node) ?? { ref: "none", commit: "none" };
      expect(this.#git("rev-parse", ref)).toBe(commit);
      expect(this.#git("show", `${ref}:left-${name}.txt`)).toBe("left");
      const subjects = this.#git("log", "--format=%s", ref).split("\n");
      expect(subjects).toEqual(expect.arrayContaining([`Half of ${name}`, expect.stringMatching(/^WIP on node-/)]));
    }
  }

  figures(): string {
    const refused = factsOf(this.#facts, "merge.refused");
    const count = (why: string) => refused.filter(({ data }) => data.why === why).length;
    const redBefore = factsOf(this.#facts, "check.finished").filter(({ data }) => data.red_before).length;
    return [
      `${this.#pieces.size} branches, ${this.#moves.length} in`,
      `${factsOf(this.#facts, "node.failed").length} back with a reason`,
      `${count("conflict")} conflicts and ${count("checks")} red merges refused`,
      `${redBefore} checks red before`,
      `${factsOf(this.#facts, "snapshot.kept").length} snapshots`,
      `${this.#facts.length} facts`,
    ].join(", ");
  }

  #redAt(commit: string): string[] {
    const folder = mkdtempSync(join(this.#world.path, "checkout-"));
    execFileSync("/bin/sh", [
      "-c",
      'git --git-dir "$1" archive "$2" | tar -x -C "$3"',
      "sh",
      this.#dir,
      commit,
      folder,
    ]);
    const red = CHECKS.filter((check) => {
      try {
        execFileSync("/bin/sh", ["-c", check], { cwd: folder, stdio: "ignore" });
        return false;
      } catch {
        return true;
      }
    });
    rmSync(folder, { recursive: true });
    return red;
  }

  #git(...args: string[]): string {
    return execFileSync("git", ["--git-dir", this.#dir, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
  }
}

/** What those who do not come in may come back with. */
const REASONS: Record<string, RegExp> = {
  "gives up": /too hard/,
  insists: /conflict: /,
  "stays red": /checks: .*grep -rqs bad parts/s,
};

function commitsIn(data: unknown): string[] {
  if (typeof data === "string") return /^[0-9a-f]{40}$/.test(data) ? [data] : [];
  if (typeof data !== "object" || data === null) return [];
  return Object.entries(data).flatMap(([name, value]) => (name === "tree" ? [] : commitsIn(value)));
}
