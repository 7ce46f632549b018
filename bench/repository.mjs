import { execFile, spawn } from "node:child_process";
import { randomFillSync } from "node:crypto";
import { once } from "node:events";
import { lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { AgentRepository, cloneScript, commitScript, Git, inspectRepository } from "../src/repository/index.ts";
import { Branch } from "../src/runtime/repository/branch.ts";
import { openSandbox } from "../src/sandbox/open-sandbox.ts";
import { kilobytes, sum, treeOf } from "./processes.mjs";

const run = promisify(execFile);
const BRANCH = "agiraph/bench";
const MIB = 1024 * 1024;
const ASSET = 256 * 1024;

/**
 * What a node's clone and a merge cost in a repository of so many files and so much history.
 *
 * BENCH-REPOSITORY-1. The history is random bytes, which no packing makes smaller. It is made once in a run, by git
 *     fast-import, and is not part of any figure.
 * BENCH-REPOSITORY-2. A clone of ours is made as a worker gets it: by the script, in the sandbox. Beside it, from the
 *     same repository and to the same disk: `git worktree add`, `git clone` and `git clone --shared`, by turns.
 * BENCH-REPOSITORY-3. Bytes are blocks on the disk of what is not a checked-out file: the git folder of the clone, or what
 *     it added to that of the repository. Files that are hard links to those of another clone count nothing.
 * BENCH-REPOSITORY-4. A merge is the merge queue's own: from the node's commit, received, until the branch is at the
 *     merge and on the disk, without checks and the fact. What comes before it is shown beside it: the commit, made and
 *     bundled in the sandbox, and receiving that bundle.
 * BENCH-REPOSITORY-5. Memory is the most that all processes of the clones held at once, by fair share, looked at every
 *     few milliseconds; that of one checkout is measured in the same way with `git worktree add`.
 */
export async function repositoryCost(home, { files, history, clones, rounds }) {
  const person = join(home, "person");
  await makeRepository(person, files, history);
  mkdirSync(join(home, "temporary"));
  const git = new Git({ env: process.env, temporary: join(home, "temporary") });
  const found = await inspectRepository(person, git);
  if (!found.ok) throw new Error(found.reason);
  const agent = AgentRepository.open(join(home, "agent/repo.git"), git);
  const began = performance.now();
  const { base } = await agent.create(found.repository, found.repository.head, BRANCH);
  const createMs = performance.now() - began;
  const world = { home, person, agent, base, sandbox: await sandboxed() };
  return {
    create_ms: createMs,
    ...(await clonesByTurns(world, rounds)),
    ...(await merges(world, rounds)),
    ...(await inParallel(world, clones)),
  };
}

async function sandboxed() {
  const sandbox = await openSandbox();
  if (sandbox.kind !== "bubblewrap") throw new Error(`Nothing is measured without bubblewrap: ${sandbox.about}`);
  return sandbox;
}

/** Small text files, and some large ones that each commit replaces. */
async function makeRepository(person, files, history) {
  await run("git", ["init", "-q", "-b", "main", person]);
  const options = ["-c", "pack.compression=0", "-c", "core.fsync=none", "fast-import", "--quiet", "--depth=0"];
  const child = spawn("git", options, { cwd: person, stdio: ["pipe", "ignore", "inherit"] });
  const write = async (...parts) => {
    for (const part of parts) if (!child.stdin.write(part)) await once(child.stdin, "drain");
  };
  const commit = (at) =>
    `commit refs/heads/main\ncommitter Pat <pat@example.com> ${1_700_000_000 + at} +0000\ndata 1\n${at % 10}\n`;
  await write(commit(0));
  for (let at = 0; at < files; at++) {
    const content = `export const value${at} = ${at};\n`.repeat(1 + (at % 60));
    const folder = `src/part-${at % 50}/room-${at % 500}`;
    await write(`M 100644 inline ${folder}/file-${at}.js\ndata ${content.length}\n${content}\n`);
  }
  const bytes = Buffer.alloc(ASSET);
  for (let at = 1; at * 20 * ASSET <= history * MIB; at++) {
    await write(commit(at));
    for (let asset = 0; asset < 20; asset++) {
      await write(`M 100644 inline assets/${asset}.bin\ndata ${ASSET}\n`, Buffer.from(randomFillSync(bytes)), "\n");
    }
  }
  child.stdin.end();
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  await run("git", ["reset", "-q", "--hard"], { cwd: person });
}

async function clonesByTurns(world, rounds) {
  const { home, person } = world;
  const ways = {
    clone: (folder) => clone(world, folder),
    worktree: (folder) => run("git", ["worktree", "add", "-q", "--detach", folder], { cwd: person }),
    plain: (folder) => run("git", ["clone", "-q", person, folder]),
    shared: (folder) => run("git", ["clone", "-q", "--shared", person, folder]),
  };
  const taken = Object.fromEntries(Object.keys(ways).map((name) => [name, { ms: [], mb: [] }]));
  // The first of each warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, make] of Object.entries(ways)) {
      const folder = join(home, `${name}-${round}`);
      const before = blocksOf(join(person, ".git"));
      const began = performance.now();
      await make(folder);
      const ms = performance.now() - began;
      const own = statSync(join(folder, ".git")).isDirectory() ? blocksOf(join(folder, ".git")) : 0;
      if (round > 0) taken[name].ms.push(ms);
      if (round > 0) taken[name].mb.push((own + blocksOf(join(person, ".git")) - before) / 1e6);
    }
  }
  return Object.fromEntries(
    Object.entries(taken).flatMap(([name, { ms, mb }]) => [
      [`${name}_ms`, middle(ms)],
      [`${name}_mb`, Math.max(0.001, middle(mb))],
    ]),
  );
}

function clone(world, folder, node = "node-1") {
  const { agent, base } = world;
  mkdirSync(folder);
  const names = { name: "Alice", email: "alice@example.com" };
  return inSandbox(
    world,
    folder,
    cloneScript({ repository: agent.dir, folder, branch: `work/${node}`, commit: base, ...names }),
  );
}

async function inSandbox({ sandbox, agent }, folder, command) {
  const { code, output } = await sandbox.run({
    command,
    cwd: folder,
    binds: { write: [folder], read: [agent.dir], hide: [] },
    env: {},
    timeoutMs: 300_000,
    signal: new AbortController().signal,
  });
  if (code !== 0) throw new Error(`a script ended with ${code}: ${output}`);
  return output.trim().split("\n").at(-1);
}

/** Each node changes five files that no other changes. */
async function merges(world, rounds) {
  const { home, agent, base } = world;
  const taken = { commit: [], receive: [], merge: [] };
  const queue = queueOf(agent, base);
  for (let round = 0; round <= rounds; round++) {
    const folder = join(home, `clone-${round}`);
    for (let at = 0; at < 5; at++) writeFileSync(join(folder, `new-${round}-${at}.js`), "changed\n".repeat(100));
    const bundle = join(folder, ".git/work.bundle");
    const begun = performance.now();
    const said = await inSandbox(world, folder, commitScript({ folder, message: "work", bundle, base }));
    const commit = said.replace("HEAD ", "");
    const isCommitted = performance.now();
    const received = await agent.receive(bundle, `node-${round}`, () => ({
      [`refs/agiraph/work/node-${round}/${commit}`]: commit,
    }));
    if (!received.ok) throw new Error(received.reason);
    const isThere = performance.now();
    await queue(commit, `node-${round}`);
    const isMerged = performance.now();
    if (round === 0) continue;
    taken.commit.push(isCommitted - begun);
    taken.receive.push(isThere - isCommitted);
    taken.merge.push(isMerged - isThere);
  }
  return Object.fromEntries(Object.entries(taken).map(([name, ms]) => [`${name}_ms`, middle(ms)]));
}

/** As the runtime has it, for a project without checks; what it would append is not. */
function queueOf(agent, base) {
  const state = { branch: BRANCH, tip: base, nodes: {} };
  const situation = () => ({ repository: state });
  const branch = new Branch({
    log: { append: () => ({ durable: Promise.resolve() }) },
    now: situation,
    pending: situation,
    clock: { now: () => 1_800_000_000_000 },
    repository: agent,
    checks: { run: async () => [] },
    projectConfig: async () => ({ checks: [] }),
  });
  const access = { read: [], env: {}, hosts: [] };
  return async (commit, node) => {
    const candidate = {
      node_id: node,
      worker_id: "alice",
      commit,
      title: "Merge",
      checks: [],
      mayBeRed: false,
      access,
    };
    const result = await branch.integrate(candidate, new AbortController().signal);
    if (result.kind !== "ready") throw new Error(`it was not merged: ${JSON.stringify(result)}`);
    state.tip = result.published.merged;
    await branch.syncGit();
    if ((await agent.tip(BRANCH)) !== state.tip) throw new Error("the branch is elsewhere");
  };
}

async function inParallel(world, clones) {
  const { home, person } = world;
  const one = await mostMemory(() =>
    run("git", ["worktree", "add", "-q", "--detach", join(home, "one")], { cwd: person }),
  );
  const began = performance.now();
  const all = await mostMemory(() =>
    Promise.all(Array.from({ length: clones }, (_, at) => clone(world, join(home, `parallel-${at}`), `node-${at}`))),
  );
  const seconds = (performance.now() - began) / 1000;
  return { parallel_s: seconds, one_mib: one, parallel_mib: all, parallel_memory: all / clones / one };
}

/** In MiB, of all processes below this one. */
async function mostMemory(work) {
  let most = 0;
  let isOver = false;
  const working = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const [, ...others] = treeOf(process.pid);
    most = Math.max(most, sum(others, fairShare) / 1024);
    await pause(3);
  }
  await working;
  return most;
}

/** A process may end while it is looked at. */
function fairShare(pid) {
  try {
    return kilobytes(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+)/m);
  } catch {
    return 0;
  }
}

function blocksOf(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((bytes, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return bytes + blocksOf(path) + lstatSync(path).blocks * 512;
    const { blocks, nlink } = lstatSync(path);
    return nlink > 1 ? bytes : bytes + blocks * 512;
  }, 0);
}

function middle(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
