import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { deliverBranch } from "../../src/repository/deliver.ts";
import { BRANCH, type World } from "../../src/repository/testing/world.ts";

/** Commands that leave a mark when they run, so that it can be seen whether something hostile ran. */
export class Traps {
  readonly #world: World;
  readonly #marks: string;

  constructor(world: World) {
    this.#world = world;
    this.#marks = join(world.path, "marks");
    mkdirSync(this.#marks);
  }

  /** One line of shell. */
  command(name: string): string {
    return `touch ${this.#marks}/${name}`;
  }

  /** A program that leaves the mark and says yes. */
  script(path: string, name: string): string {
    this.#world.write(path, `#!/bin/sh\n${this.command(name)}\nexit 0\n`);
    const full = join(this.#world.path, path);
    chmodSync(full, 0o755);
    return full;
  }

  /** The marks that are there; they are removed. */
  sprung(): string[] {
    const names = readdirSync(this.#marks).sort();
    for (const name of names) rmSync(join(this.#marks, name));
    return names;
  }
}

/** As a person would run it: its end does not matter, only what it set off. */
export function anyhow(world: World, folder: string, script: string, env: Record<string, string> = {}): string {
  const options = { cwd: join(world.path, folder), env: { ...world.env, ...env }, timeout: 60_000 };
  const { stdout, stderr } = spawnSync("/bin/sh", ["-c", script], options);
  return `${stdout}${stderr}`;
}

/** All that we ever do to a person's repository for a branch, with changes of theirs, a merge and a conflict. */
export async function everything(world: World): Promise<void> {
  const person = await world.inspect();
  const agent = world.agent();
  const { base } = await agent.create(person, person.head, BRANCH, { dirty: true });
  const commits: string[] = [];
  for (const name of ["alice", "bob"]) {
    world.clone(name);
    world.write(`${name}/readme.md`, `one\n${name} was here\nthree\n`);
    const { bundle, commit } = world.commit(name, name);
    const received = await agent.receive(bundle, name);
    if (!received.ok) throw new Error(received.reason);
    commits.push(commit);
  }
  const [alice = "", bob = ""] = commits;
  if ((await agent.merge(alice, bob)).kind !== "conflict") throw new Error("no conflict");
  if ((await agent.merge(base, bob)).kind !== "clean") throw new Error("a conflict");
  await agent.diff(base, alice);
  await agent.patch(base, alice);
  await agent.commits(base, alice, 10);
  await agent.fetchFrom(person, "HEAD");
  const delivered = await deliverBranch(await world.inspect(), agent, BRANCH, alice, world.git);
  if (!delivered.ok) throw new Error(delivered.reason);
}
