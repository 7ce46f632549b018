import { ChevronRight } from "lucide-react";
import type { Situation } from "../../../src/projections/index.ts";
import { COORDINATOR, type Fact } from "../../../src/protocol/index.ts";
import { useResultsSoFar } from "../live/run-results.ts";
import { usePaced } from "../live/use-live.ts";
import type { AgentView } from "../live/view.ts";
import { count } from "../text/figures.ts";
import { FileLinks, linkedFile } from "./file-links.tsx";

/** The results so far, while the run continues; an infinite agent has no end at which they could be shown. */
export function ResultsSoFar({ view, situation }: { view: AgentView; situation: Situation }) {
  const { run, status } = situation.agent;
  // Where it failed, the card that says so has them.
  if (view.state === "replay" || !run || run.finished || status === "failed") return null;
  return <SoFar view={view} run={run.id} status={status} />;
}

function SoFar({ view, run, status }: { view: AgentView; run: string; status: string }) {
  const tick = usePaced(`${view.life} ${status} ${view.facts.findLast(mayBringResults)?.seq}`, 1500);
  const files = useResultsSoFar(view.id, run, tick).map(linkedFile);
  if (files.length === 0) return null;
  return (
    <details className="group shrink-0 border-b border-line bg-raised text-[13px]">
      <summary className="flex min-h-11 items-center gap-2 px-3 hover:bg-hover md:min-h-8 md:px-5">
        <ChevronRight className="size-3.5 shrink-0 text-dim transition-transform group-open:rotate-90" aria-hidden />
        <span className="shrink-0 font-semibold">Results so far</span>
        <span className="truncate text-dim">{files.map(({ label }) => label).join(", ")}</span>
        <span className="ml-auto shrink-0 text-xs text-dim">{count(files.length, "file")}</span>
      </summary>
      <div className="max-h-[40dvh] overflow-y-auto px-3 pb-3 md:px-5 md:pl-11">
        <FileLinks agent={view.id} files={files} />
      </div>
    </details>
  );
}

/** Files are written by calls; what workers write counts once it is published. */
function mayBringResults({ type, data }: Fact): boolean {
  return type === "node.completed" || (type === "tool.result" && data.worker_id === COORDINATOR);
}
