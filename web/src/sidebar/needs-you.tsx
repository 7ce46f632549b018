import type { InboxItem } from "../live/api.ts";
import { Link } from "../shell/link.tsx";
import { StatusDot } from "../shell/status.tsx";
import { age, gist } from "../text/figures.ts";

/** What waits for the person, over all agents: questions first, then messages that nobody read. */
export function NeedsYou({
  items,
  most = 6,
  label = "Needs you",
}: {
  items: readonly InboxItem[];
  most?: number;
  /** What it is called where it stands a second time. */
  label?: string;
}) {
  if (items.length === 0) return null;
  const sorted = items.toSorted((a, b) => Number(b.kind === "question") - Number(a.kind === "question"));
  return (
    <section aria-label={label} className="mb-3 rounded-lg border border-wait/40 bg-wait-tint p-1">
      <h2 className="flex items-center justify-between px-2 py-1 text-xs font-semibold text-wait">
        Needs you <span className="rounded-full bg-wait px-1.5 text-page">{items.length}</span>
      </h2>
      <ul>
        {sorted.slice(0, most).map((item) => (
          <li key={`${item.agent.id} ${item.id}`}>
            <Link
              to={{ screen: "entity", agent: item.agent.id, worker: item.from.id }}
              className="flex min-h-11 gap-2 rounded-md px-2 py-1 hover:bg-hover md:min-h-0"
            >
              <span className="mt-1">
                <StatusDot status={item.kind === "question" ? "asking" : "waiting"} title={item.kind} />
              </span>
              <span className="min-w-0">
                <span className="line-clamp-2 text-[13px] leading-snug [overflow-wrap:anywhere]">
                  {gist(item.text)}
                </span>
                <span className="block truncate text-xs text-dim">
                  {item.from.name} · {item.agent.name} · {age(Date.now() / 1000 - item.since_ts)}
                </span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {sorted.length > most && (
        <Link
          to={{ screen: "home" }}
          className="flex min-h-11 items-center px-2 text-xs font-semibold text-wait underline md:min-h-7"
        >
          {sorted.length - most} more
        </Link>
      )}
    </section>
  );
}
