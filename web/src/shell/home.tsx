import { ChevronRight, Plus } from "lucide-react";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Outline } from "../entity/entity-view.tsx";
import { restore } from "../entity/steering.ts";
import type { AgentSummary, InboxItem } from "../live/api.ts";
import { useAgents } from "../live/use-live.ts";
import { NeedsYou, needsPerson, UnreadMessages } from "../sidebar/needs-you.tsx";
import { age, count, firstLine, gist, money } from "../text/figures.ts";
import { Link } from "./link.tsx";
import { useMore } from "./more.tsx";
import { openOverlay } from "./overlay.ts";
import { colourOf, StatusDot, statusOfSummary, wordsOfSummary } from "./status.tsx";

const MOST = 100;

/** All agents at a glance. */
export function Home() {
  const { list, away, unreadable, inbox, state } = useAgents();
  const { shown, more } = useMore(askersFirst(list), MOST, () => false);
  if (state === "ready" && list.length + unreadable.length === 0) return <Welcome away={away} inbox={inbox} />;
  const spent = money(list.reduce((sum, { cost_usd }) => sum + cost_usd, 0));
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader
        title="Agents"
        detail={state === "ready" ? `${count(list.length, "agent")} · ${spent} in total` : "Loading…"}
      >
        {/* Elsewhere it stands in the sidebar. */}
        <button
          type="button"
          onClick={() => openOverlay("new_agent")}
          className="flex min-h-11 shrink-0 items-center gap-1.5 rounded-md bg-accent px-3 font-semibold text-on-accent md:hidden"
        >
          <Plus className="size-4" aria-hidden /> New agent
        </button>
      </ScreenHeader>
      <div className="min-h-0 flex-1 overflow-y-auto p-3 md:p-5">
        <div className="mx-auto max-w-4xl">
          <Waiting inbox={inbox} />
          <div className="md:hidden">
            <UnreadMessages list={list} />
          </div>
          {state === "loading" && <Outline />}
          <ul className="grid grid-cols-1 gap-2 lg:grid-cols-2">
            {shown.map((summary) => (
              <li key={summary.id}>
                <AgentCard summary={summary} />
              </li>
            ))}
          </ul>
          {more}
          {unreadable.map(({ id, why }) => (
            <p key={id} role="alert" className="mt-2 rounded-lg bg-bad-tint p-3 text-[13px] text-bad">
              <span className="font-mono">{id}</span> cannot be read: {why}
            </p>
          ))}
          <PutAway away={away} />
        </div>
      </div>
    </div>
  );
}

/** All that waits for the person, where the sidebar is not in sight or has no room for it. */
function Waiting({ inbox }: { inbox: readonly InboxItem[] }) {
  return (
    <div className={inbox.filter(needsPerson).length > 6 ? "" : "md:hidden"}>
      <NeedsYou items={inbox} most={50} label="Waiting for you" isHome />
    </div>
  );
}

/** Otherwise in the order of the sidebar, the newest first. */
function askersFirst(list: readonly AgentSummary[]): AgentSummary[] {
  return list.toSorted((a, b) => Number(isAsking(b)) - Number(isAsking(a)));
}

function isAsking(summary: AgentSummary): boolean {
  return statusOfSummary(summary) === "asking";
}

/** Nothing is erased. */
function PutAway({ away }: { away: readonly AgentSummary[] }) {
  if (away.length === 0) return null;
  return (
    <details className="group mt-6 text-[13px]">
      <summary className="flex min-h-11 items-center gap-1.5 rounded-md px-1 font-semibold text-dim hover:bg-hover md:min-h-8">
        <ChevronRight className="size-3.5 transition-transform group-open:rotate-90" aria-hidden />
        {count(away.length, "archived agent")}
      </summary>
      <ul className="mt-1">
        {away.map(({ id, name, goal }) => (
          <li key={id} className="flex items-center gap-3 px-1">
            <span className="shrink-0 font-medium">{name}</span>
            <span className="min-w-0 flex-1 truncate text-dim">{firstLine(goal)}</span>
            <button
              type="button"
              onClick={() => restore(id)}
              aria-label={`Restore ${name}`}
              className="min-h-11 shrink-0 rounded-md px-2 font-semibold text-accent hover:bg-hover md:min-h-8"
            >
              Restore
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

function AgentCard({ summary }: { summary: AgentSummary }) {
  const status = statusOfSummary(summary);
  const problem = problemOf(summary);
  const figures = [
    summary.current_stage,
    summary.node_count > 0 ? `${summary.nodes_completed} of ${count(summary.node_count, "node")} done` : null,
    money(summary.cost_usd),
  ];
  // Until its long record has been read, nobody knows them.
  const known = summary.loading ? ["loading …"] : figures;
  const facts = [...known, `${age(Date.now() / 1000 - summary.updated_at)} ago`];
  return (
    <Link
      to={{ screen: "entity", agent: summary.id, worker: "coordinator" }}
      className="block h-full rounded-lg border border-line bg-page p-3 hover:border-accent hover:bg-raised"
    >
      <span className="flex items-center gap-2">
        <span className="truncate font-semibold">{summary.name}</span>
        <span className={`ml-auto flex shrink-0 items-center gap-1 text-xs font-medium ${colourOf(status)}`}>
          <StatusDot status={status} isBeside />
          {wordsOfSummary(summary)}
        </span>
      </span>
      <span className="mt-1 line-clamp-2 text-[13px] [overflow-wrap:anywhere]">{firstLine(summary.goal)}</span>
      {problem && <span className="mt-1 line-clamp-2 text-xs text-bad [overflow-wrap:anywhere]">{problem}</span>}
      <span className="mt-1.5 block truncate text-xs text-dim">{facts.filter(Boolean).join(" · ")}</span>
    </Link>
  );
}

/** Why it does not go on, where it does not. */
function problemOf(summary: AgentSummary): string | null {
  const { status, trouble, error } = summary;
  if (statusOfSummary(summary) === "trouble" && trouble) return `${trouble.worker_name}: ${trouble.message}`;
  return status === "failed" && error !== null ? gist(error) : null;
}

function Welcome({ away, inbox }: { away: readonly AgentSummary[]; inbox: readonly InboxItem[] }) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader title="Agiraph" />
      <div className="grid min-h-0 flex-1 place-items-center overflow-y-auto p-6">
        <div className="max-w-md">
          {/* Of meshes, which need no agent. */}
          <Waiting inbox={inbox} />
          <img src="/favicon.svg" alt="" className="mb-4 size-10" />
          <h2 className="text-xl font-semibold">Give an agent a goal</h2>
          <p className="mt-2 text-dim">
            It works alone or grows a team around the goal. You watch, talk to anyone in it, answer what they ask, and
            find the results as files.
          </p>
          <button
            type="button"
            onClick={() => openOverlay("new_agent")}
            className="mt-5 flex min-h-11 items-center gap-2 rounded-md bg-accent px-4 font-semibold text-on-accent hover:opacity-90"
          >
            <Plus className="size-4" aria-hidden /> New agent
          </button>
          <p className="mt-5 text-[13px] text-dim">
            From a terminal: <code className="font-mono">agiraph run "your goal"</code>
          </p>
          <PutAway away={away} />
        </div>
      </div>
    </div>
  );
}
