import { CircleCheck, CircleDashed, CircleMinus, CircleSlash, CircleX, TriangleAlert, Undo2 } from "lucide-react";
import { WORK_WORDS, type WorkState } from "./branch-state.ts";

const SIGNS: Record<WorkState, { Icon: typeof CircleCheck; colour: string }> = {
  working: { Icon: CircleDashed, colour: "text-busy" },
  merged: { Icon: CircleCheck, colour: "text-ok" },
  red: { Icon: CircleX, colour: "text-bad" },
  conflict: { Icon: TriangleAlert, colour: "text-wait" },
  reverted: { Icon: Undo2, colour: "text-dim" },
  unchanged: { Icon: CircleMinus, colour: "text-dim" },
  ended: { Icon: CircleSlash, colour: "text-dim" },
};

/** How the work of a node stands: by shape, by colour, and in words. */
export function WorkSign({ state, isAlone = false }: { state: WorkState; isAlone?: boolean }) {
  const { Icon, colour } = SIGNS[state];
  return (
    <span className={`flex shrink-0 items-center gap-1 text-xs font-medium ${colour}`}>
      <Icon className="size-3.5" aria-hidden />
      <span className={isAlone ? "sr-only" : ""}>{WORK_WORDS[state]}</span>
    </span>
  );
}
