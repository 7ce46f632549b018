import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { processOf } from "../../src/mesh/terminal/process-tree.ts";
import { TmuxServer } from "../../src/mesh/terminal/tmux-server.ts";
import { MeshHouse } from "./house.ts";
import { Terminals, withTmux } from "./terminals.ts";

const LONG = { timeout: 180_000 };
/** It does not care that its terminal is gone, nor that it is asked to end; and it has begun somebody who is the same. */
const STUBBORN = `trap "" HUP TERM
(trap "" HUP TERM; echo $$ > child; while :; do sleep 1; done) &
setsid sh -c 'trap "" HUP TERM; echo $$ > grandchild; while :; do sleep 1; done' &
echo $$ > leader
while :; do sleep 1; done`;

const env = { PATH: process.env.PATH ?? "", LANG: "C.UTF-8", TERM: "xterm-256color" };

/** For as long as the test may take: how fast a busy machine starts or ends a program is not what is tested here. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await setTimeout(20);
}

async function pidIn(file: string): Promise<number> {
  await until(() => existsSync(file) && /^\d+\n/.test(readFileSync(file, "utf8")));
  return Number(readFileSync(file, "utf8"));
}

withTmux("TMUX-SERVER-4: who is killed ends with all that it began, also what would rather not", LONG, async () => {
  await using terminals = new Terminals();
  await terminals.server.start("mesh-a", { argv: ["sh", "-c", STUBBORN], env, cwd: terminals.dir });
  const pids = await Promise.all(["leader", "grandchild"].map((file) => pidIn(join(terminals.dir, file))));
  expect(pids.map((pid) => processOf(pid)?.pid)).toEqual(pids);
  await terminals.server.kill("mesh-a");
  expect(pids.map((pid) => processOf(pid))).toEqual([null, null]);
  expect(await terminals.server.sessions()).toEqual([]);
});

withTmux("TMUX-SERVER-4: a session of the same name that was begun meanwhile stays", LONG, async () => {
  await using terminals = new Terminals();
  const launch = { argv: ["sleep", "1000"], env, cwd: terminals.dir } as const;
  const first = await terminals.server.start("mesh-a", launch);
  const second = await terminals.server.start("mesh-a", launch);
  await terminals.server.kill("mesh-a", first);
  expect(await terminals.server.find("mesh-a")).toEqual(second);
  expect(processOf(second.pid)).not.toBeNull();
});

test("TMUX-SERVER-4: whatever a program that calls itself tmux says, nobody is signalled who is not of this server", async () => {
  const dir = mkdtempSync(join(tmpdir(), "tx-"));
  const stranger = spawn("sleep", ["1000"]);
  const socket = join(dir, "tmux.sock");
  // Its words hold our socket, as those of a server of ours do.
  const lookalike = spawn("sh", ["-c", "sleep 1000 & echo $!; wait", socket], { stdio: ["ignore", "pipe", "ignore"] });
  const child: number = await new Promise((resolve) => lookalike.stdout.once("data", (said) => resolve(Number(said))));
  const signalled: number[] = [];
  const server = new TmuxServer(socket, `${join(dir, "bin")}:${process.env.PATH}`, (pid) => void signalled.push(pid));
  const kill = async (serverPid: number | string, panePid: number | string) => {
    mkdirSync(join(dir, "bin"), { recursive: true });
    const script = `#!/bin/sh\ncase "$*" in *list-panes*) echo '$0 ${panePid} 0 mesh-a' ;; *) echo ${serverPid} ;; esac\n`;
    writeFileSync(join(dir, "bin", "tmux"), script, { mode: 0o755 });
    await server.kill("mesh-a");
  };
  try {
    await kill(1, 1);
    await kill(process.pid, stranger.pid ?? 0);
    await kill("1", stranger.pid ?? 0);
    await kill(stranger.pid ?? 0, child);
    await kill("nothing", child);
    // It could be the server, but whoever is named is none of its children.
    await kill(lookalike.pid ?? 0, stranger.pid ?? 0);
    expect(signalled).toEqual([]);
  } finally {
    process.kill(child);
    lookalike.kill();
    stranger.kill();
    rmSync(dir, { recursive: true, force: true });
  }
});

withTmux(
  "TMUX-SERVER-5: nothing is pasted into a terminal whose program has ended, and the others live on",
  LONG,
  async () => {
    await using terminals = new Terminals();
    const other = await terminals.server.start("mesh-b", { argv: ["sleep", "1000"], env, cwd: terminals.dir });
    await terminals.server.start("mesh-a", { argv: ["true"], env, cwd: terminals.dir });
    await until(async () => (await terminals.server.find("mesh-a"))?.isDead === true);
    expect(await terminals.server.paste("mesh-a", "words", "whole")).toBe(false);
    expect(await terminals.server.paste("mesh-a", "\r", "keys")).toBe(false);
    expect(await terminals.server.find("mesh-b")).toEqual(other);
  },
);

withTmux("MESH-PROJECT-2: stop ends the sessions with all that they began", LONG, async () => {
  await using house = await (
    await new MeshHouse({
      meshes: [{ mesh: "line", type: "persistent", agents: ["x/one"] }],
      agents: { one: { options: { program: "stubborn", runs: "tmux" } } },
      config: { programs: { stubborn: { kind: "autonomous", command: ["sh", "-c", STUBBORN] } } },
    }).open()
  ).start();
  await house.spawn("line", "one");
  const pids = await Promise.all(["leader", "grandchild"].map((file) => pidIn(join(house.project, file))));
  await house.api.give({ do: "stop_meshes", id: house.id });
  expect(pids.map((pid) => processOf(pid))).toEqual([null, null]);
});
