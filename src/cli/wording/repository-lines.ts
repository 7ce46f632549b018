import { checksOfBranch, type Situation } from "../../projections/index.ts";
import type { FactOf } from "../../protocol/index.ts";
import { count } from "./format.ts";
import { plain } from "./width.ts";

type Opened = FactOf<"repository.opened">["data"];

/** What a person should know when a team begins to work on their repository: where its work goes, and what it does not see. */
export function openedLines(opened: Opened): [first: string, ...unseen: string[]] {
  const { base, branch, source, uncommitted, submodules, uses_lfs, is_shallow, skipped } = opened;
  return [
    `The team works on the branch ${branch}, which begins at ${base.slice(0, 10)} of ${plain(source)}. Your files and branches stay as they are.`,
    ...(uncommitted > 0
      ? [
          `It does not see what you have not committed (${count(uncommitted, "file")}). Commit it and \`agiraph rebase\`, or begin with --dirty include.`,
        ]
      : []),
    ...(submodules.length > 0 ? [`It does not see what is in submodules: ${named(submodules)}.`] : []),
    ...(uses_lfs ? ["Of files in Git LFS it sees only the pointers."] : []),
    ...(is_shallow ? ["It sees only the commits that your shallow clone has."] : []),
    ...(skipped.length > 0
      ? [`Not included, since they are repositories of their own or pass a filter such as LFS: ${named(skipped)}.`]
      : []),
  ];
}

/** The same of an agent that has begun; nothing for one that only reads. */
export function startLines({ repository }: Situation): string[] {
  return repository ? openedLines(repository) : [];
}

/** Where the work is when a run has ended, and the commands that follow; nothing for an agent that only reads. */
export function branchAtEnd(
  { repository, agent }: Situation,
  command: (...words: string[]) => string,
): { words: string; commands: string[] } | undefined {
  if (!repository) return undefined;
  const { branch, tip, base, nodes, deliveries } = repository;
  const { id } = agent;
  if (tip === base) return { words: `Nothing was changed on the branch ${branch}`, commands: [] };
  const review = `Review it: ${command("diff", id)}`;
  const last = deliveries.findLast(({ commit }) => commit === tip);
  if (last?.how === "merge")
    return { words: `${branch} is merged into ${last.into ?? "your branch"}`, commands: [review] };
  const red = checksOfBranch(repository).flatMap(({ ok, command }) => (ok ? [] : [command]));
  const but =
    red.length > 0 ? `, but ${red.length === 1 ? "this check fails" : "these checks fail"}: ${named(red)}` : "";
  if (last)
    return {
      words: `The branch ${branch} is in your repository${but}`,
      commands: [review, `Merge it: ${command("accept", id, "--merge")}`],
    };
  const merged = Object.values(nodes).filter(({ state }) => state === "merged").length;
  const work = merged > 0 ? `the work of ${count(merged, "node")}` : "changes";
  return { words: `The branch ${branch} has ${work}${but}`, commands: [review, `Take it: ${command("accept", id)}`] };
}

const MOST_NAMED = 5;

function named(paths: readonly string[]): string {
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : "";
  return paths.slice(0, MOST_NAMED).map(plain).join(", ") + more;
}
