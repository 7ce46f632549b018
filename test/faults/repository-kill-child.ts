import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  AgentRepository,
  checkoutScript,
  cloneScript,
  commitScript,
  deliverBranch,
  Git,
  inspectRepository,
  snapshotScript,
} from "../../src/repository/index.ts";

/**
 * Does with a person's repository what a team does, one node after the other, until so many are merged or it is killed.
 * `repository-kill-child.ts FOLDER NODES`. Whatever a step has done is printed as a line of JSON right after it; what is
 * printed is promised. A later process goes on with the node that this one was at.
 */
export type Report =
  | { step: string }
  | { kept: string; by: string }
  | { tip: string; node: number }
  | { delivered: string }
  | { over: true };

const [folder = "", nodes = "0"] = process.argv.slice(2);
const BRANCH = "agiraph/quiet-river";
const git = new Git({ env: { PATH: process.env.PATH, HOME: folder }, temporary: join(folder, "temporary") });
const agent = AgentRepository.open(join(folder, "agent/repo.git"), git);
const author = { name: "Alice", email: "alice@example.com" };

await begin();
for (let node = next(); node <= Number(nodes); node = next()) {
  await work(node);
  writeFileSync(join(folder, "next.part"), String(node + 1));
  renameSync(join(folder, "next.part"), join(folder, "next"));
}
report({ over: true });

async function begin(): Promise<void> {
  report({ step: "create" });
  const person = await found();
  const { base } = await agent.create(person, person.head, BRANCH, { dirty: true });
  report({ kept: base, by: "create" });
}

/** The agent's own is made once; so that its making is killed more than once, every third node has another made. */
async function createAnother(node: number): Promise<void> {
  const dir = join(folder, "others", `${node}.git`);
  const person = await found();
  report({ step: "create" });
  const { base } = await AgentRepository.open(dir, git).create(person, person.head, BRANCH);
  if ((await AgentRepository.open(dir, git).tip(BRANCH)) !== base) throw new Error("it is not whole");
  rmSync(dir, { recursive: true });
}

async function work(node: number): Promise<void> {
  if (node % 3 === 0) await createAnother(node);
  const tip = await agent.tip(BRANCH);
  if (tip === undefined) throw new Error("no branch");
  const clone = join(folder, "nodes", `node-${node}`);
  const bundle = join(folder, `node-${node}.bundle`);
  mkdirSync(clone, { recursive: true });
  report({ step: "clone" });
  await sh(cloneScript({ repository: agent.dir, folder: clone, branch: "work", commit: tip, ...author }));
  const file = join(clone, `node-${node}.txt`);
  if (!existsSync(file)) writeFileSync(file, `${node}\n`.repeat(100));
  report({ step: "snapshot" });
  const saved = await sh(snapshotScript({ folder: clone, bundle, base: tip, message: `saved ${node}` }));
  if (saved.startsWith("SNAPSHOT ")) await take(bundle, node, `refs/agiraph/snapshots/node-${node}`, saved.slice(9));
  report({ step: "commit" });
  const said = await sh(commitScript({ folder: clone, message: `node ${node}`, bundle, base: tip }));
  // Merged by a process that was killed before it could note it.
  if (said === "NOTHING") return;
  const commit = said.slice("HEAD ".length);
  await take(bundle, node, `refs/agiraph/nodes/node-${node}`, commit);
  report({ step: "merge" });
  const merged = await agent.merge(tip, commit);
  if (merged.kind !== "clean") throw new Error(merged.text);
  const made = await agent.commitTree(merged.tree, [tip, commit], `Merge node-${node}\n`, author, 1_700_000_000 + node);
  report({ step: "checkout" });
  const checkout = join(folder, "checks");
  rmSync(checkout, { recursive: true, force: true });
  mkdirSync(checkout);
  await sh(checkoutScript({ repository: agent.dir, folder: checkout, commit: made }));
  if (!existsSync(join(checkout, `node-${node}.txt`))) throw new Error("it is not in the checkout");
  report({ step: "keep" });
  await agent.keep(`refs/agiraph/merges/node-${node}`, made);
  report({ kept: made, by: "keep" });
  report({ step: "move" });
  if (!(await agent.moveBranch(BRANCH, tip, made))) throw new Error("the branch is elsewhere");
  report({ tip: made, node });
  if (node % 2 === 0) await deliver(made);
  else await fetchTheirs();
  if (node % 3 === 0) await revert(made, tip, node);
}

/** Kept, and in no branch. */
async function revert(merged: string, parent: string, node: number): Promise<void> {
  report({ step: "revert" });
  const reverted = await agent.revert(merged, { commit: merged, parent });
  if (reverted.kind !== "clean") throw new Error(reverted.text);
  const made = await agent.commitTree(reverted.tree, [merged], `Revert node-${node}\n`, author, 1_800_000_000 + node);
  await agent.keep(`refs/agiraph/merges/revert-${node}`, made);
  report({ kept: made, by: "revert" });
}

async function take(bundle: string, node: number, ref: string, commit: string): Promise<void> {
  report({ step: "receive" });
  const received = await agent.receive(bundle, `node-${node}`, () => ({ [ref]: commit }));
  if (!received.ok) throw new Error(received.reason);
  if (!Object.values(received.refs).includes(commit)) throw new Error(`${commit} is not in the bundle`);
  report({ kept: commit, by: "receive" });
}

async function deliver(commit: string): Promise<void> {
  report({ step: "deliver" });
  const delivered = await deliverBranch(await found(), agent, BRANCH, commit, git);
  if (!delivered.ok) throw new Error(delivered.reason);
  report({ delivered: commit });
}

async function fetchTheirs(): Promise<void> {
  report({ step: "fetch" });
  report({ kept: await agent.fetchFrom(await found(), "refs/heads/theirs"), by: "fetch" });
}

async function found() {
  const result = await inspectRepository(join(folder, "person"), git);
  if (!result.ok) throw new Error(result.reason);
  return result.repository;
}

function next(): number {
  const file = join(folder, "next");
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : 1;
}

async function sh(script: string): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: folder };
  const child = spawn("/bin/sh", ["-c", script], { env, cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  const last = said.trim().split("\n").at(-1) ?? "";
  if (code !== 0 || last.startsWith("REFUSED")) throw new Error(`a script ended with ${code}: ${last}`);
  return last;
}

/** In one write, so that a line is there whole or not at all. */
function report(line: Report): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
