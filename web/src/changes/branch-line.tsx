import { CircleCheck, CircleX, GitBranch, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Situation } from "../../../src/projections/index.ts";
import type { RepositoryView } from "../live/repository-api.ts";
import { count } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { type BranchState, branchState } from "./branch-state.ts";
import { Counts } from "./counts.tsx";

/** Which branch, how much is on it, how it stands, and whether the person has it. */
export function BranchLine({ situation, repository }: { situation: Situation; repository: RepositoryView }) {
  const { branch, source_branch, base, commits_total, files } = repository;
  const state = branchState(situation, repository);
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-3 py-1.5 text-[13px] md:px-5">
      <span className="flex min-w-0 items-center gap-1.5">
        <GitBranch className="size-3.5 shrink-0 text-dim" aria-hidden />
        <span className="truncate font-mono text-xs">{visible(branch)}</span>
      </span>
      <span className="text-xs text-dim">
        {count(commits_total, "commit")} on {source_branch === null ? "" : `${visible(source_branch)} `}
        <span className="font-mono">{base.slice(0, 8)}</span>
      </span>
      <span className="flex items-center gap-1.5 text-xs text-dim">
        {count(files, "file")} <Counts {...repository} />
      </span>
      <States state={state} />
      <Delivery repository={repository} delivery={state.delivery} />
    </div>
  );
}

function States({ state: { health, conflicts, waiting } }: { state: BranchState }) {
  return (
    <>
      {health === "green" && (
        <Mark colour="text-ok" icon={<CircleCheck className="size-3.5" aria-hidden />}>
          checks pass
        </Mark>
      )}
      {health === "red" && (
        <Mark colour="text-bad" icon={<CircleX className="size-3.5" aria-hidden />}>
          checks fail
        </Mark>
      )}
      {health === "unchecked" && <span className="text-xs text-dim">no checks</span>}
      {conflicts > 0 && (
        <Mark colour="text-wait" icon={<TriangleAlert className="size-3.5" aria-hidden />}>
          {count(conflicts, "conflict")}
        </Mark>
      )}
      {waiting > 0 && (
        <Mark colour="text-bad" icon={<CircleX className="size-3.5" aria-hidden />}>
          {count(waiting, "node")} with failing checks
        </Mark>
      )}
    </>
  );
}

function Mark({ colour, icon, children }: { colour: string; icon: ReactNode; children: ReactNode }) {
  return (
    <span className={`flex items-center gap-1 text-xs font-medium ${colour}`}>
      {icon}
      <span>{children}</span>
    </span>
  );
}

function Delivery({ repository, delivery }: { repository: RepositoryView; delivery: BranchState["delivery"] }) {
  const last = repository.delivered.at(-1);
  const url = repository.delivered.findLast((each) => each.url !== undefined)?.url;
  return (
    <span className="flex items-center gap-2 text-xs text-dim">
      {delivery === "none" && repository.tip !== repository.base && "not in your repository yet"}
      {delivery === "behind" && "changed since it was accepted"}
      {delivery === "done" && last && deliveredWords(last)}
      {url !== undefined && /^https?:\/\//.test(url) && (
        <a
          href={url}
          rel="noreferrer noopener"
          target="_blank"
          className="inline-flex min-h-11 items-center text-accent underline md:min-h-6"
        >
          Pull request
        </a>
      )}
    </span>
  );
}

function deliveredWords({ how, into }: RepositoryView["delivered"][number]): string {
  if (how === "merge") return `merged into ${visible(into ?? "your branch")}`;
  return how === "pr" ? "in a pull request" : "in your repository";
}
