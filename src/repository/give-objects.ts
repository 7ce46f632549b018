import { createReadStream } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { oneAtATime } from "../boundary/one-at-a-time.ts";
import type { AgentRepository } from "./agent-repository.ts";
import type { Git } from "./git.ts";
import { Mask, type PersonFolders } from "./person-objects.ts";

/**
 * Adds to the person's objects what a commit of the agent's needs there. Written by index-pack, which names each object
 * by its content; nothing but the object store is written.
 *
 * OBJECTS-1. Afterwards the commit is complete there, also when they have deleted and pruned what it builds on.
 */
export function giveObjects(person: PersonFolders, agent: AgentRepository, commit: string, git: Git): Promise<void> {
  return oneAtATime(`${agent.dir} outgoing`, async () => {
    const outgoing = join(agent.dir, "outgoing");
    await rm(outgoing, { recursive: true, force: true });
    await mkdir(outgoing);
    try {
      const known = await knownThere(person, await agent.shared(), git);
      await give({ person, agent, commit, git }, known, outgoing);
    } finally {
      await rm(outgoing, { recursive: true, force: true });
    }
  });
}

interface Gift {
  person: PersonFolders;
  agent: AgentRepository;
  commit: string;
  git: Git;
}

async function give({ person, agent, commit, git }: Gift, known: readonly string[], outgoing: string): Promise<void> {
  const stdin = [commit, "--not", ...known, ""].join("\n");
  const packing = ["--git-dir", agent.dir, "pack-objects", "--revs", "--quiet", "--delta-base-offset", "--non-empty"];
  const config = ["pack.window=0", "core.bigFileThreshold=512m"];
  await git.run([...packing, join(outgoing, "pack")], { stdin, config, seconds: 3600 });
  const pack = (await readdir(outgoing)).find((name) => name.endsWith(".pack"));
  await using mask = await Mask.open(person, git);
  if (pack !== undefined) {
    const env = { GIT_OBJECT_DIRECTORY: join(person.gitDir, "objects"), GIT_ALTERNATE_OBJECT_DIRECTORIES: "" };
    const content = createReadStream(join(outgoing, pack));
    await mask.run(["index-pack", "--stdin"], { env, stdin: content, seconds: 3600 });
  }
  await mask.run(["rev-list", "--objects", "--quiet", commit, "--not", ...known], { seconds: 3600 });
}

/** An object may still lie there although what it needs is pruned, so only what their refs reach counts. */
async function knownThere(person: PersonFolders, candidates: readonly string[], git: Git): Promise<string[]> {
  const known: string[] = [];
  for (const candidate of candidates) {
    const args = ["--git-dir", person.gitDir, "rev-list", "--max-count=1", candidate, "--not", "--all"];
    const result = await git.attempt(args, { seconds: 300 });
    if (result.code === 0 && result.stdout.length === 0) known.push(candidate);
  }
  return known;
}
