import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { World } from "../../src/repository/testing/world.ts";
import { cloneDir } from "../../src/store/paths.ts";
import { call, script, startTeam } from "../../src/testing/index.ts";
import { skipped } from "../try-sandbox.ts";
import { smallDisk } from "./full-disk.ts";

const ACTOR = { kind: "human", via: "terminal" } as const;
const MiB = 1024 * 1024;
const disk = await smallDisk(600);
const cannot = "why" in disk ? `(skipped: ${disk.why})` : skipped;

test.skipIf(cannot)(
  `the disk is full when a node publishes: its work stays in its clone, and is saved when there is room ${cannot}`,
  async () => {
    if ("why" in disk) throw new Error(disk.why);
    await using full = disk;
    await using world = await World.open();
    const home = join(full.path, "home");
    const ballast = join(full.path, "ballast");
    mkdirSync(home, { mode: 0o700 });
    const held = Promise.withResolvers<void>();
    await using team = await startTeam({
      goal: "Write",
      project: world.person,
      write: true,
      home,
      coordinator: script(
        call("create_work_node", { task: "First" }),
        call("finish", { summary: "given up" }).after("node-1 failed: The disk is full"),
        call("finish", { summary: "seen" }),
      ),
      workers: {
        Alice: script(
          call("bash", { command: "git commit -q --allow-empty -m half; echo first > first.txt; echo over" }),
          call("publish", { summary: "first" }).after("over").until(held.promise),
          call("publish", { summary: "first" }),
        ),
      },
    });
    const { dir, id } = team.agent.log;
    const clone = cloneDir(dir, "run-1", "node-1");
    await expect.poll(() => existsSync(join(clone, "first.txt")), { timeout: 60_000 }).toBe(true);
    // The sandbox wants 512 MiB; what we write ourselves still finds room.
    writeFileSync(ballast, Buffer.alloc(150 * MiB, 1));
    held.resolve();
    await team.agent.idle();

    expect(existsSync(join(clone, "first.txt"))).toBe(true);
    const told = Object.values(team.agent.now.letters.queued).filter(({ reader }) => reader === "human");
    expect(told.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^What node-1 has left in its clone is not saved, so its clone stays\. The disk is full/),
    ]);
    expect(team.agent.now.repository?.nodes["node-1"]?.snapshots).toEqual([]);
    rmSync(ballast);
    await team.runtime.execute({ do: "send", id, message: "There is room again." } as never, ACTOR);
    await team.agent.idle();

    const [kept] = team.agent.now.repository?.nodes["node-1"]?.snapshots ?? [];
    const git = (...args: string[]) =>
      execFileSync("git", ["--git-dir", join(dir, "repo.git"), ...args], { encoding: "utf8" }).trim();
    expect(git("show", `${kept?.ref}:first.txt`)).toBe("first");
    expect(git("log", "--format=%s", kept?.ref ?? "").split("\n")).toContain("half");
    expect(existsSync(clone)).toBe(false);
  },
  120_000,
);
