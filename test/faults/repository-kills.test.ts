import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { BRANCH, World } from "../../src/repository/testing/world.ts";
import { killRounds } from "./kill-rounds.ts";
import { expectNoProcessLeft, mulberry32 } from "./killing.ts";
import type { Report } from "./repository-kill-child.ts";

/**
 * A process that clones, commits, receives, merges, checks out, moves the branch, reverts and delivers is killed at any moment, alone or with
 * every git that it started, and another goes on.
 *
 * REPOSITORY-KILLS-1. Every commit that was reported is reachable from a ref, and `git fsck` finds nothing.
 * REPOSITORY-KILLS-2. The branch is where the last report says, or further; each node is merged once.
 * REPOSITORY-KILLS-3. Of the person's repository nothing changes but refs/heads/agiraph and added objects.
 * REPOSITORY-KILLS-4. Nothing unfinished stays behind in the agent's repository.
 */
const ROUNDS = killRounds("repository", 185, 20_261_119);
const STEPS_OF_A_NODE = 11;
const CHILD = join(import.meta.dirname, "repository-kill-child.ts");

test.each(ROUNDS)(
  "killed $kills times at any step of git (seed $seed): no commit is lost, and the person's repository stays as it is",
  { timeout: 3_600_000 },
  async ({ kills: KILLS, seed: SEED }) => {
    await using world = await World.open();
    prepare(world);
    const before = theirs(world);
    const random = mulberry32(SEED);
    const seen = new Seen();

    for (let kills = 0; kills < KILLS; kills++) {
      const how = KINDS[Math.floor(random() * KINDS.length)] ?? "alone";
      const life = { steps: 1 + Math.floor(random() * 1.2 * STEPS_OF_A_NODE), lag: random() * 30, how };
      await live(world, 1_000_000, seen, life);
      // What the killed process had started may still be at work: the next one begins beside it.
      if (how === "alone, and at once another") continue;
      if (how === "alone") await expectNoProcessLeft(world.path);
      expectKept(world, seen, kills % 5 === 0);
      expect(changes(before, theirs(world))).toEqual([]);
    }
    const nodes = nextOf(world) + 1;
    await live(world, nodes, seen);

    expectKept(world, seen, true);
    expectMergedOnce(world, nodes);
    expect(changes(before, theirs(world))).toEqual([]);
    expect(unfinished(join(world.path, "agent/repo.git"))).toEqual([]);
    const steps = Object.entries(seen.killedIn).map(([step, times]) => `${step} ${times}`);
    console.log(
      `${KILLS} kills (seed ${SEED}): ${nodes} nodes merged, ${seen.kept.size} commits reported; in ${steps}`,
    );
  },
);

const KINDS = ["with all", "alone", "alone, and at once another"] as const;

/** What all processes have reported. */
class Seen {
  readonly kept = new Set<string>();
  readonly killedIn: Record<string, number> = {};
  tip = "";
  delivered = "";

  take(report: Report): void {
    if ("kept" in report) this.kept.add(report.kept);
    if ("tip" in report) this.tip = report.tip;
    if ("delivered" in report) this.delivered = report.delivered;
  }
}

interface Life {
  /** It is killed when it has begun so many steps, and so many milliseconds later. */
  steps: number;
  lag: number;
  how: (typeof KINDS)[number];
}

async function live(world: World, nodes: number, seen: Seen, life?: Life): Promise<void> {
  const options = { cwd: world.path, stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"] };
  const child = spawn(process.execPath, [CHILD, world.path, String(nodes)], options);
  let steps = 0;
  let last = "start";
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const report: Report = JSON.parse(line);
    seen.take(report);
    if (!("step" in report)) return;
    last = report.step;
    steps += 1;
    if (steps === life?.steps) setTimeout(() => kill(child, life), life.lag);
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "exit"), once(lines, "close")]);
  if (code !== null && (code !== 0 || life)) throw new Error(`The process ended by itself with ${code}:\n${stderr}`);
  if (life) seen.killedIn[last] = (seen.killedIn[last] ?? 0) + 1;
}

function kill(child: ChildProcess, { how }: Life): void {
  const below = how === "with all" && child.pid !== undefined ? processesBelow(child.pid) : [];
  child.kill("SIGKILL");
  for (const pid of below) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
  }
}

function processesBelow(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
    return children.flatMap((child) => [child, ...processesBelow(child)]);
  } catch {
    return [];
  }
}

/** With everything that could be lost: a stash, a reflog, another branch, a hook, changes that are not committed. */
function prepare(world: World): void {
  world.plain("person", "branch", "theirs", "HEAD~1");
  world.write("person/readme.md", "stashed\n");
  world.plain("person", "stash", "push", "-q");
  world.write("person/.git/hooks/post-commit", "#!/bin/sh\n");
  world.write("person/readme.md", "changed\n");
  world.write("person/untracked.txt", "untracked\n");
}

function theirs(world: World): Record<string, string> {
  return world.state("person");
}

/** Objects may be added, none may change; half a pack that a killed git has left is removed by their own gc. */
function changes(before: Record<string, string>, after: Record<string, string>): string[] {
  const ours = /^\.git\/(?:refs\/heads\/agiraph(?:\/|$)|objects\/pack\/(?:pack-[0-9a-f]+\.|tmp_))/;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((name) => before[name] !== after[name] && !(ours.test(name) && !(name in before)));
}

/** `isWhole`: also that every object is there, which takes its time. */
function expectKept(world: World, seen: Seen, isWhole: boolean): void {
  if (!world.has("agent/repo.git")) {
    expect([...seen.kept]).toEqual([]);
    return;
  }
  const reached = new Set(world.plain("agent/repo.git", "rev-list", "--all").split("\n"));
  expect([...seen.kept].filter((commit) => !reached.has(commit))).toEqual([]);
  if (isWhole) {
    for (const folder of ["agent/repo.git", "person"])
      expect(world.sh(folder, "git fsck --full --strict --no-dangling 2>&1")).toBe("");
  }
  // What was not reported any more may have been done too.
  if (seen.tip !== "") expect(world.plain("agent/repo.git", "merge-base", seen.tip, BRANCH)).toBe(seen.tip);
  if (seen.delivered === "") return;
  const delivered = world.plain("person", "rev-parse", BRANCH);
  expect(world.plain("person", "merge-base", seen.delivered, delivered)).toBe(seen.delivered);
  expect(world.plain("agent/repo.git", "merge-base", delivered, BRANCH)).toBe(delivered);
}

function expectMergedOnce(world: World, nodes: number): void {
  const numbers = Array.from({ length: nodes }, (_, at) => at + 1);
  const merges = world.plain("agent/repo.git", "log", "--first-parent", "--merges", "--reverse", "--format=%s", BRANCH);
  expect(merges.split("\n")).toEqual(numbers.map((node) => `Merge node-${node}`));
  const files = world.plain("agent/repo.git", "ls-tree", "--name-only", BRANCH).split("\n");
  expect(numbers.filter((node) => !files.includes(`node-${node}.txt`))).toEqual([]);
}

function unfinished(dir: string): string[] {
  const all = readdirSync(dir, { recursive: true, encoding: "utf8" });
  return all.filter((name) => /(?:^|\/)(?:tmp|\.tmp)[_-]|\.lock$|^(?:incoming|outgoing)\/./.test(name));
}

function nextOf(world: World): number {
  return world.has("next") ? Number(world.read("next")) : 1;
}
