import { mkdir } from "node:fs/promises";
import { type Git, inspectRepository, type PersonRepository } from "../../repository/index.ts";
import { gitTemporaryDir } from "../../store/paths.ts";
import { RepositoryProblem } from "./sandboxed-scripts.ts";

/** For what git needs during one call; on the disk of the home. */
export async function gitTemporary(home: string): Promise<string> {
  const folder = gitTemporaryDir(home);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Throws in words where it is none that we can work on. */
export async function personRepository(folder: string, git: Git): Promise<PersonRepository> {
  const found = await inspectRepository(folder, git);
  if (!found.ok) throw new RepositoryProblem(found.reason);
  return found.repository;
}
