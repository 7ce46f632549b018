import { ChevronRight, ChevronsDown, ChevronsUp, MessageSquarePlus, UnfoldVertical } from "lucide-react";
import { type ReactNode, useState } from "react";
import { size } from "../text/figures.ts";
import { visible } from "../text/visible.ts";
import { SplitLine, UnifiedLine } from "./code-line.tsx";
import { Comments } from "./comment-card.tsx";
import { CommentComposer } from "./comment-composer.tsx";
import { Counts } from "./counts.tsx";
import type { DiffRow, FileRow, GapRow, LineAddress, LineRow, NoteRow, PairRow } from "./diff-rows.ts";
import { isShort } from "./gaps.ts";
import type { ReviewTarget } from "./review-target.ts";
import type { ShownDiff } from "./use-diff.ts";

interface DiffRowProps<R> {
  row: R;
  target: ReviewTarget;
  shown: ShownDiff;
  cursor: LineAddress | null;
}

export function DiffRowView(props: DiffRowProps<Exclude<DiffRow, { kind: "about" }>>) {
  const { row, target, shown } = props;
  switch (row.kind) {
    case "file":
      return <FileName row={row} shown={shown} />;
    case "note":
      return <Note row={row} shown={shown} />;
    case "gap":
      return <GapLine row={row} shown={shown} />;
    case "comments":
      return <Comments target={target} comments={row.comments} />;
    case "composer":
      return <CommentComposer target={target} at={row.at} quote={row.quote} onClose={() => shown.compose(null)} />;
    default:
      return <Line {...props} row={row} />;
  }
}

function Line({ row, target, shown, cursor }: DiffRowProps<LineRow | PairRow>) {
  const line = row.kind === "line" ? <UnifiedLine row={row} /> : <SplitLine row={row} />;
  if (!cursor) return line;
  return (
    <div className="diff-cursor relative" aria-current="true">
      {line}
      {target.canComment && !isSame(shown.composing, cursor) && (
        <button
          type="button"
          onClick={() => shown.compose(cursor)}
          className="absolute top-0 right-2 z-10 flex min-h-11 items-center gap-1.5 rounded-md border border-line bg-page px-2.5 text-xs font-semibold shadow-sm hover:bg-hover md:-top-1 md:min-h-7"
        >
          <MessageSquarePlus className="size-3.5" aria-hidden /> Comment
          <span className="sr-only">
            {" "}
            on line {cursor.line} of {visible(cursor.path)}
          </span>
        </button>
      )}
    </div>
  );
}

function isSame(a: LineAddress | null, b: LineAddress): boolean {
  return a !== null && a.path === b.path && a.side === b.side && a.line === b.line;
}

const STATUS: Record<FileRow["file"]["status"], string | null> = {
  added: "added",
  deleted: "deleted",
  modified: null,
  renamed: "renamed",
  copied: "copied",
  type_changed: "changed type",
};

function FileName({ row: { file, isOpen }, shown }: { row: FileRow; shown: ShownDiff }) {
  const words = STATUS[file.status];
  return (
    <div className="flex min-h-11 items-center gap-1 border-y border-line bg-raised pr-3">
      <button
        type="button"
        onClick={() => shown.toggle(file)}
        aria-expanded={isOpen}
        className="flex min-h-11 min-w-0 flex-1 items-center gap-2 px-3 text-left hover:bg-hover md:min-h-9"
      >
        <ChevronRight
          className={`size-3.5 shrink-0 text-dim transition-transform ${isOpen ? "rotate-90" : ""}`}
          aria-hidden
        />
        <h3 className="min-w-0 truncate font-mono text-xs font-semibold" title={visible(file.path)}>
          {file.old_path !== undefined && file.old_path !== file.path && (
            <span className="font-normal text-dim">{visible(file.old_path)} → </span>
          )}
          {visible(file.path)}
        </h3>
        {words && <span className="shrink-0 text-xs text-dim">{words}</span>}
      </button>
      <Counts {...file} />
    </div>
  );
}

function Note({ row: { file, why }, shown }: { row: NoteRow; shown: ShownDiff }) {
  const [isLoading, setLoading] = useState(false);
  const load = () => {
    setLoading(true);
    void shown.load(file).finally(() => setLoading(false));
  };
  return (
    <div className="flex flex-wrap items-center gap-3 px-4 py-2 text-[13px] text-dim">
      <p>{noteWords(file, why)}</p>
      {why === "cut" && file.hunks.length === 0 && (
        <button
          type="button"
          disabled={isLoading}
          onClick={load}
          className="min-h-11 rounded-md border border-line px-3 font-semibold text-ink hover:bg-hover disabled:opacity-60 md:min-h-8"
        >
          {isLoading ? "Loading…" : "Show them"}
        </button>
      )}
    </div>
  );
}

function noteWords({ status, bytes, hunks, insertions, deletions }: FileRow["file"], why: NoteRow["why"]): string {
  if (why === "binary") {
    const now = status === "deleted" ? "A binary file was deleted" : "A binary file: its content is not shown";
    return bytes === undefined ? `${now}.` : `${now} (${size(bytes)}).`;
  }
  if (why === "cut")
    return hunks.length === 0
      ? `${insertions + deletions} changed lines, which did not come with the others.`
      : "Only the first lines are shown: the file has too many. Take the branch to see all of them.";
  return status === "added" || status === "deleted" ? "The file is empty." : "Its content is unchanged.";
}

function GapLine({ row: { file, gap }, shown }: { row: GapRow; shown: ShownDiff }) {
  const count = gap.to === null ? null : gap.to - gap.from + 1;
  const words = count === null ? "More below" : count === 1 ? "1 line" : `${count} lines`;
  const open = (which: "down" | "up" | "all") => () => shown.expand(file, gap, which);
  return (
    <div className="diff-gap flex min-h-8 items-center text-xs">
      {gap.hasBefore && !isShort(gap) && (
        <GapButton label={`Show more of ${visible(file.path)} below line ${gap.from - 1}`} onClick={open("down")}>
          <ChevronsDown className="size-3.5" aria-hidden />
        </GapButton>
      )}
      {gap.hasAfter && !isShort(gap) && (
        <GapButton label={`Show more of ${visible(file.path)} above line ${(gap.to ?? 0) + 1}`} onClick={open("up")}>
          <ChevronsUp className="size-3.5" aria-hidden />
        </GapButton>
      )}
      <button
        type="button"
        onClick={open(gap.to === null ? "down" : "all")}
        className="flex min-h-11 shrink-0 items-center gap-1.5 px-2 hover:bg-hover hover:text-ink md:min-h-8"
      >
        <UnfoldVertical className="size-3.5" aria-hidden />
        {words}
        <span className="sr-only">
          {" "}
          of {visible(file.path)} from line {gap.from}: show
        </span>
      </button>
      <span className="min-w-0 truncate px-2 font-mono">{visible(gap.header)}</span>
    </div>
  );
}

function GapButton({ label, onClick, children }: { label: string; onClick: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-label={label}
      title="20 more lines"
      onClick={onClick}
      className="grid size-11 shrink-0 place-items-center hover:bg-hover hover:text-ink md:size-8"
    >
      {children}
    </button>
  );
}
