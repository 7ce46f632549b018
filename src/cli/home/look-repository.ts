import { Git } from "../../repository/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import { RepositoryReader } from "../../runtime/views/repository-view.ts";
import { gitTemporaryDir } from "../../store/paths.ts";
import type { Invocation } from "../invocation.ts";
import { lookAtAgent } from "./look.ts";

type LookedAt = Awaited<ReturnType<typeof lookAtAgent>>;

/**
 * The repository of an agent that writes, read-only. Its commits are on disk before the facts that name them, so it does
 * not matter which process works on the agent, or whether any does.
 */
export async function lookAtRepository(
  call: Invocation,
  word: string,
): Promise<LookedAt & { reader: RepositoryReader; repository: NonNullable<LookedAt["now"]["repository"]> }> {
  const look = await lookAtAgent(call, word);
  const reader = RepositoryReader.of(look.now, look.log.dir, gitFor(look.settings));
  const { repository } = look.now;
  if (!repository) throw new Error("an agent with a reader has a repository");
  return { ...look, reader, repository };
}

export function gitFor({ env, home }: Pick<Settings, "env" | "home">): Git {
  return new Git({ env, temporary: gitTemporaryDir(home) });
}
