import { ChevronRight, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { conflictOf, type RepositoryRefusal } from "../live/repository-api.ts";
import { useLoaded } from "../live/use-live.ts";
import { count } from "../text/figures.ts";
import { visible, visibleLines } from "../text/visible.ts";

interface ConflictProps {
  agent: string;
  node: string;
  refusal: RepositoryRefusal;
}

/** Which files the work and the branch change at the same lines, and on demand those lines. */
export function Conflict({ agent, node, refusal: { files, seq } }: ConflictProps) {
  return (
    <section aria-label="Conflicts" className="rounded-lg border border-wait/60 bg-wait-tint p-3">
      <h3 className="flex items-center gap-2 text-[13px] font-semibold text-wait">
        <TriangleAlert className="size-4 shrink-0" aria-hidden />
        {files.length === 0 ? "It conflicts with the branch" : `Conflicts in ${count(files.length, "file")}`}
      </h3>
      <ul className="mt-1 text-[13px]">
        {files.slice(0, MOST_LISTED).map((path) => (
          <li key={path} className="font-mono text-xs leading-relaxed [overflow-wrap:anywhere]">
            {visible(path)}
          </li>
        ))}
      </ul>
      {files.length > MOST_LISTED && <p className="text-xs text-dim">and {files.length - MOST_LISTED} more</p>}
      <ConflictText agent={agent} node={node} seq={seq} />
    </section>
  );
}

const MOST_LISTED = 50;

function ConflictText({ agent, node, seq }: { agent: string; node: string; seq: number }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="-ml-1 flex min-h-11 items-center gap-1.5 rounded-md px-1 text-[13px] font-semibold text-accent hover:bg-hover md:min-h-8"
      >
        <ChevronRight className={`size-3.5 transition-transform ${isOpen ? "rotate-90" : ""}`} aria-hidden />
        The lines in conflict
      </button>
      {isOpen && <Lines agent={agent} node={node} seq={seq} />}
    </>
  );
}

function Lines({ agent, node, seq }: { agent: string; node: string; seq: number }) {
  const conflict = useLoaded(`${agent} ${node} ${seq}`, () => conflictOf(agent, node));
  if (conflict.state === "loading") return <p className="text-[13px] text-dim">Loading…</p>;
  if (conflict.state === "failed")
    return (
      <p role="alert" className="text-[13px] text-bad">
        {conflict.problem}
      </p>
    );
  return (
    <section
      aria-label="The lines in conflict"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-96 overflow-auto rounded-md bg-page p-2"
    >
      <pre className="text-xs leading-relaxed">{visibleLines(conflict.value.text)}</pre>
    </section>
  );
}
