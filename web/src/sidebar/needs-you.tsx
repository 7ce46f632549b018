import { useState } from "react";
import { HUMAN } from "../../../src/protocol/index.ts";
import type { AgentSummary, InboxItem } from "../live/api.ts";
import { Link } from "../shell/link.tsx";
import { useMore } from "../shell/more.tsx";
import type { PagePlace } from "../shell/route.ts";
import { type Status, StatusDot } from "../shell/status.tsx";
import { markAllRead } from "../shell/unread.ts";
import { age, count, gist } from "../text/figures.ts";

/** Nothing continues before the person has acted. A message is only unread. */
export function needsPerson({ kind }: InboxItem): boolean {
  return kind !== "message";
}

const DOTS: Record<InboxItem["kind"], { status: Status; title: string }> = {
  question: { status: "asking", title: "question" },
  approval: { status: "asking", title: "needs your approval" },
  failure: { status: "failed", title: "failed" },
  message: { status: "idle", title: "message" },
};

/** What waits for the person, over all agents: questions first, since somebody waits for the answer. */
export function NeedsYou({
  items,
  most = 6,
  label = "Needs you",
  isHome = false,
}: {
  items: readonly InboxItem[];
  most?: number;
  /** What it is called where it stands a second time. */
  label?: string;
  /** Where all of them can be had. */
  isHome?: boolean;
}) {
  const waiting = items
    .filter(needsPerson)
    .sort((a, b) => Number(b.kind === "question") - Number(a.kind === "question"));
  const { shown: listed, more } = useMore(waiting, most, () => false);
  if (waiting.length === 0) return null;
  const shown = isHome ? listed : waiting.slice(0, most);
  return (
    <section aria-label={label} className="mb-3 rounded-lg border border-wait/40 bg-wait-tint p-1">
      <h2 className="flex items-center justify-between px-2 py-1 text-xs font-semibold text-wait">
        Needs you <span className="rounded-full bg-wait px-1.5 text-page">{waiting.length}</span>
      </h2>
      <ul>
        {shown.map((item) => (
          <li key={`${item.agent.id} ${item.id}`}>
            <Link to={pagePlaceOf(item)} className="flex min-h-11 gap-2 rounded-md px-2 py-1 hover:bg-hover md:min-h-0">
              <span className="mt-1">
                <StatusDot {...DOTS[item.kind]} {...(item.deadlock && { title: "everybody waits" })} />
              </span>
              <span className="min-w-0">
                <span className="line-clamp-2 text-[13px] leading-snug [overflow-wrap:anywhere]">
                  {gist(item.text)}
                </span>
                <span className="block truncate text-xs text-dim">
                  {item.kind === "question" && item.from.id !== HUMAN && `${item.from.name} · `}
                  {item.agent.name} · {age(Date.now() / 1000 - item.since_ts)}
                </span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {isHome && more}
      {!isHome && waiting.length > most && (
        <Link
          to={{ screen: "home" }}
          className="flex min-h-11 items-center px-2 text-xs font-semibold text-wait underline md:min-h-7"
        >
          {waiting.length - most} more
        </Link>
      )}
    </section>
  );
}

/** The screen where the person can act. */
export function pagePlaceOf({
  agent,
  from,
  mesh_task: task,
  mesh_session: session,
  mesh_trust: trust,
}: InboxItem): PagePlace {
  if (trust) return { screen: "mesh", project: agent.id, mesh: trust.mesh, member: null };
  if (session) return { screen: "mesh", project: agent.id, mesh: session.mesh, member: session.agent };
  if (task) return { screen: "mesh", project: agent.id, mesh: task.mesh, member: task.agent };
  return { screen: "entity", agent: agent.id, worker: from.id };
}

/** The number of messages that do not wait for the person; the dots show where they are. */
export function UnreadMessages({ list }: { list: readonly AgentSummary[] }) {
  const [isBusy, setBusy] = useState(false);
  const unread = list.reduce((sum, each) => sum + each.unread, 0);
  if (unread === 0) return null;
  const mark = () => {
    setBusy(true);
    void markAllRead().finally(() => setBusy(false));
  };
  return (
    <p className="mb-2 flex items-center gap-1.5 px-2 text-xs text-dim">
      {count(unread, "unread message")} ·
      <button
        type="button"
        disabled={isBusy}
        onClick={mark}
        className="min-h-11 rounded-md px-1 font-semibold text-accent hover:bg-hover md:min-h-6"
      >
        Mark read
      </button>
    </p>
  );
}
