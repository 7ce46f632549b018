import { ChevronRight } from "lucide-react";
import type { Insights as Offered } from "../../../src/projections/index.ts";
import { nameOf } from "../entity/message-block.tsx";
import { Markdown } from "../text/markdown.tsx";

/** What workers offered to the memory and the coordinator has not decided about. */
export function InsightList({ agent, insights }: { agent: string; insights: Offered }) {
  const open = Object.values(insights.open);
  if (open.length === 0) return null;
  return (
    <section aria-label="Offered" className="mb-2 rounded-lg border border-line bg-raised p-1">
      <h2 className="px-2 py-1 text-xs font-semibold text-dim">Offered; the coordinator decides</h2>
      {open.map(({ id, title, content, worker_id }) => (
        <details key={id} className="group">
          <summary className="flex min-h-11 items-start gap-1.5 rounded-md px-1 py-1 hover:bg-hover md:min-h-0">
            <ChevronRight
              className="mt-1 size-3 shrink-0 text-dim transition-transform group-open:rotate-90"
              aria-hidden
            />
            <span className="min-w-0">
              <span className="block text-[13px] font-medium [overflow-wrap:anywhere]">{title}</span>
              <span className="block text-xs text-dim">
                {nameOf(agent, worker_id)} · {id}
              </span>
            </span>
          </summary>
          <div className="py-1 pr-2 pl-5.5 text-[13px]">
            <Markdown text={content} />
          </div>
        </details>
      ))}
    </section>
  );
}
