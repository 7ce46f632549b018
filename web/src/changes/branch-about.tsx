import { ChevronRight } from "lucide-react";
import type { Situation } from "../../../src/projections/index.ts";
import type { RepositoryView } from "../live/repository-api.ts";
import { Link } from "../shell/link.tsx";
import { clockTime, count, exactTime, firstLine } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { nodesInOrder, workState } from "./branch-state.ts";
import { Checks } from "./checks.tsx";
import { taskOf } from "./work-list.tsx";
import { WorkSign } from "./work-sign.tsx";

interface BranchAboutProps {
  agent: string;
  situation: Situation;
  repository: RepositoryView;
}

/** The whole branch: what waits, its checks and commits, and what the team does not see. */
export function BranchAbout({ agent, situation, repository }: BranchAboutProps) {
  const stuck = nodesInOrder(repository).filter(([, { state }]) => state === "refused");
  return (
    <section aria-label="All changes" className="space-y-3 px-3 py-3 md:px-4">
      <h2 className="sr-only">All changes</h2>
      {stuck.length > 0 && (
        <ul aria-label="Not on the branch" className="divide-y divide-line rounded-lg border border-line">
          {stuck.map(([id, work]) => (
            <li key={id}>
              <Link
                to={{ screen: "changes", agent, node: id }}
                className="flex min-h-11 items-center gap-2 rounded-lg px-3 text-[13px] hover:bg-hover md:min-h-8"
              >
                <WorkSign state={workState(situation, id, work)} />
                <span className="shrink-0 font-mono text-xs">{id}</span>
                <span className="min-w-0 truncate text-dim">{taskOf(situation, id)}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      <Checks checks={repository.checks} />
      <Commits repository={repository} />
      <NotSeen repository={repository} />
    </section>
  );
}

const MOST_COMMITS = 200;

function Commits({ repository: { commits, commits_total } }: { repository: RepositoryView }) {
  if (commits.length === 0) return null;
  const shown = commits.slice(0, MOST_COMMITS);
  return (
    <details className="group">
      <Summary>{count(commits_total, "commit")}</Summary>
      <ol className="pl-5 text-xs">
        {shown.map(({ commit, author, ts, subject }) => (
          <li key={commit} className="flex items-baseline gap-2 py-0.5">
            <span className="shrink-0 font-mono text-dim">{commit.slice(0, 8)}</span>
            <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{firstLine(subject)}</span>
            <span className="shrink-0 text-dim">{visible(author)}</span>
            <time className="hidden shrink-0 text-dim sm:inline" title={exactTime(ts)}>
              {clockTime(ts)}
            </time>
          </li>
        ))}
      </ol>
      {commits_total > shown.length && (
        <p className="pl-5 text-xs text-dim">and {commits_total - shown.length} earlier ones</p>
      )}
    </details>
  );
}

function Summary({ children }: { children: string }) {
  return (
    <summary className="flex min-h-11 items-center gap-1.5 rounded-md text-[13px] hover:bg-hover md:min-h-7">
      <ChevronRight className="size-3.5 shrink-0 text-dim transition-transform group-open:rotate-90" aria-hidden />
      {children}
    </summary>
  );
}

/** Of the person's folder. */
function NotSeen({ repository }: { repository: RepositoryView }) {
  const words = notSeenWords(repository);
  if (words.length === 0) return null;
  return (
    <details className="group">
      <Summary>What the team does not see</Summary>
      <ul className="list-disc pl-9 text-xs text-dim">
        {words.map((each) => (
          <li key={each} className="[overflow-wrap:anywhere]">
            {each}
          </li>
        ))}
      </ul>
    </details>
  );
}

function notSeenWords({ uncommitted, submodules, uses_lfs, is_shallow, skipped }: RepositoryView): string[] {
  const listed = (paths: readonly string[]) =>
    paths.slice(0, 5).map(visible).join(", ") + (paths.length > 5 ? ` and ${paths.length - 5} more` : "");
  return [
    uncommitted > 0 ? `${count(uncommitted, "file")} with changes that were not committed when it began` : "",
    submodules.length > 0 ? `Submodules: ${listed(submodules)}` : "",
    uses_lfs ? "Files in Git LFS: only their pointers are there" : "",
    is_shallow ? "Commits before the shallow clone begins" : "",
    skipped.length > 0 ? `Left out: ${listed(skipped)}` : "",
  ].filter(Boolean);
}
