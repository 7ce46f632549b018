import { Columns2, ListTree, Rows2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { FileDiff, ReviewComment } from "../live/repository-api.ts";
import { go } from "../shell/route.ts";
import { count } from "../text/figures.ts";
import { ChangedFiles } from "./changed-files.tsx";
import { WorkList, type WorkListProps, WorkSelect } from "./work-list.tsx";

interface PanesProps {
  list: WorkListProps;
  /** Null while there is no diff. */
  diff: {
    files: readonly FileDiff[];
    /** There are more than are listed. */
    total: number;
    comments: readonly ReviewComment[];
    isSplit: boolean;
    onSplit: () => void;
  } | null;
  children: ReactNode;
}

/** The work and the changed files beside the diff; on a phone above it, and over it. */
export function Panes({ list, diff, children }: PanesProps) {
  const [isListed, setListed] = useState(false);
  const choose = (node: string | null) => go({ screen: "changes", agent: list.agent, node });
  return (
    <div className="flex min-h-0 flex-1">
      <div className="hidden min-h-0 w-72 shrink-0 flex-col border-r border-line md:flex">
        <div className="max-h-[40%] shrink-0 overflow-y-auto border-b border-line">
          <WorkList {...list} />
        </div>
        {diff && <ChangedFiles files={diff.files} comments={diff.comments} />}
      </div>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <div className="flex shrink-0 items-center gap-2 border-b border-line px-3 py-1 md:hidden">
          <WorkSelect {...list} onChoose={choose} />
          {diff && (
            <button
              type="button"
              aria-expanded={isListed}
              onClick={() => setListed(!isListed)}
              className="flex min-h-11 shrink-0 items-center gap-1.5 rounded-md border border-line px-3 text-[13px] font-semibold hover:bg-hover"
            >
              <ListTree className="size-4" aria-hidden /> {count(diff.files.length, "file")}
            </button>
          )}
        </div>
        {diff && <DiffBar {...diff} />}
        <div className="relative min-h-0 flex-1">
          {children}
          {diff && isListed && (
            <div className="absolute inset-0 z-20 flex flex-col bg-page pt-2 md:hidden">
              <ChangedFiles files={diff.files} comments={diff.comments} onChoose={() => setListed(false)} />
            </div>
          )}
        </div>
      </div>
    </div>
  );
}

function DiffBar({ files, total, isSplit, onSplit }: NonNullable<PanesProps["diff"]>) {
  return (
    <>
      <div className="hidden shrink-0 items-center gap-2 border-b border-line px-4 py-1 text-xs text-dim lg:flex">
        <span>{count(total, "changed file")}</span>
        <span className="ml-auto hidden xl:inline">
          <Key>j</Key> <Key>k</Key> files · <Key>n</Key> <Key>p</Key> changes · <Key>c</Key> comment
        </span>
        <button
          type="button"
          onClick={onSplit}
          aria-pressed={isSplit}
          title="s"
          className="flex min-h-8 items-center gap-1.5 rounded-md px-2 font-semibold text-ink hover:bg-hover"
        >
          {isSplit ? <Rows2 className="size-3.5" aria-hidden /> : <Columns2 className="size-3.5" aria-hidden />}
          Side by side
        </button>
      </div>
      {total > files.length && (
        <p role="note" className="shrink-0 bg-wait-tint px-4 py-1.5 text-xs text-wait">
          Only the first {files.length} of {total} files are listed. Accept the branch to see all of them.
        </p>
      )}
    </>
  );
}

function Key({ children }: { children: string }) {
  return <kbd className="rounded border border-line bg-raised px-1 font-mono text-[11px]">{children}</kbd>;
}
