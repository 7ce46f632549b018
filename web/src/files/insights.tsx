import type { Insights as Offered } from "../../../src/projections/index.ts";
import { nameOf } from "../entity/speech.tsx";
import { Markdown } from "../text/markdown.tsx";

/** What workers offered to the memory and the coordinator has not decided about. */
export function Insights({ agent, insights }: { agent: string; insights: Offered }) {
  const open = Object.values(insights.open);
  if (open.length === 0) return null;
  return (
    <section aria-label="Offered" className="mb-2 rounded-lg border border-line bg-raised p-1">
      <h2 className="px-2 py-1 text-xs font-semibold text-dim">Offered, for the coordinator to decide</h2>
      {open.map(({ id, title, content, worker_id }) => (
        <details key={id}>
          <summary className="flex min-h-11 flex-col justify-center rounded-md px-2 py-1 hover:bg-hover md:min-h-0">
            <span className="text-[13px] font-medium [overflow-wrap:anywhere]">{title}</span>
            <span className="text-xs text-dim">
              {nameOf(agent, worker_id)} · {id}
            </span>
          </summary>
          <div className="px-2 pt-1 pb-2 text-[13px]">
            <Markdown text={content} />
          </div>
        </details>
      ))}
    </section>
  );
}
