import type { Situation } from "../../projections/index.ts";
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
      ? [`Not taken along, since they are repositories of their own or pass a filter such as LFS: ${named(skipped)}.`]
      : []),
  ];
}

/** The same of an agent that has begun; nothing for one that only reads. */
export function startLines({ repository }: Situation): string[] {
  return repository ? openedLines(repository) : [];
}

const MOST_NAMED = 5;

function named(paths: readonly string[]): string {
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : "";
  return paths.slice(0, MOST_NAMED).map(plain).join(", ") + more;
}
