import type { NewFact, Write } from "../../protocol/index.ts";
import { type AgentRepository, type Git, resolveBase } from "../../repository/index.ts";
import type { PendingLog } from "../state/pending-log.ts";
import { personRepository } from "./person.ts";
import { RepositoryProblem } from "./sandboxed-scripts.ts";

/** The agent's repository is made from the person's. Done again after a kill, it comes to the same. */
export async function openRepository(
  repository: AgentRepository,
  git: Git,
  log: Pick<PendingLog, "append" | "id">,
  project: string,
  write: Write,
): Promise<void> {
  const person = await personRepository(project, git);
  const base = write.base === undefined ? person.head : await resolveBase(person, write.base, git);
  if (base === undefined)
    throw new RepositoryProblem(`${person.top} has no branch, tag or commit named "${write.base}".`);
  const branch = `agiraph/${log.id}`;
  const dirty = write.dirty === "include";
  const made = await repository.create(person, base, branch, { dirty });
  const fact: NewFact = {
    type: "repository.opened",
    data: {
      base: made.base,
      branch,
      source: person.top,
      source_branch: person.branch,
      uncommitted: dirty ? 0 : person.changed + person.untracked,
      submodules: person.submodules,
      uses_lfs: person.usesLfs,
      is_shallow: person.isShallow,
      skipped: made.left,
    },
  };
  await log.append({ facts: [fact] }).durable;
}
