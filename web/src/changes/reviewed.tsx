import { type ReactNode, useMemo, useState } from "react";
import { keep, remembered } from "../shell/memo.ts";
import { DiffView } from "./diff-view.tsx";
import { Panes } from "./panes.tsx";
import type { ReviewTarget } from "./review-target.ts";
import { useDiff } from "./use-diff.ts";
import { useWide } from "./use-wide.ts";
import type { WorkListProps } from "./work-list.tsx";

const SPLIT = "changes.split";

/** A diff with what is beside it. */
export function Reviewed({ target, list, about }: { target: ReviewTarget; list: WorkListProps; about: ReactNode }) {
  const { node, repository, diff } = target;
  const [wish, setWish] = useState(() => remembered(SPLIT) === "yes");
  const isWide = useWide();
  const isSplit = wish && isWide;
  const split = () => {
    if (!isWide) return;
    keep(SPLIT, wish ? null : "yes");
    setWish(!wish);
  };
  const comments = useMemo(
    () => (node === null ? repository.comments : repository.comments.filter(({ node_id }) => node_id === node)),
    [repository.comments, node],
  );
  const shown = useDiff(target, comments, isSplit);
  return (
    <Panes list={list} diff={{ files: shown.files, total: diff.files_total, comments, isSplit, onSplit: split }}>
      <DiffView target={target} shown={shown} about={about} onSplit={split} />
    </Panes>
  );
}
