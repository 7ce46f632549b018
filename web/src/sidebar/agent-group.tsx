import {
  AlarmClock,
  ChevronRight,
  Columns3,
  Files,
  GitCompare,
  History,
  type LucideIcon,
  NotebookText,
  Star,
} from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Situation } from "../../../src/projections/index.ts";
import { COORDINATOR, HUMAN } from "../../../src/protocol/index.ts";
import { isWriting } from "../changes/writes.ts";
import type { AgentSummary } from "../live/api.ts";
import { useAgents, useOfAgent } from "../live/use-live.ts";
import { Link } from "../shell/link.tsx";
import { keep, remembered } from "../shell/memo.ts";
import { useMore } from "../shell/more.tsx";
import { type PagePlace, useRoute } from "../shell/route.ts";
import { crowd, type Status, StatusDot, statusInTeam, statusNow, statusOfSummary } from "../shell/status.tsx";
import { unreadByWorker } from "../shell/unread.ts";
import { count, gist } from "../text/figures.ts";

const ROW =
  "flex min-h-11 items-center gap-2 rounded-md pr-2 pl-7 text-[13px] hover:bg-hover md:min-h-7 aria-[current]:bg-tint aria-[current]:font-semibold";

/** One agent: its team and its other screens. Expanded while it is open, unless the person chose otherwise. */
export function AgentGroup({ summary }: { summary: AgentSummary }) {
  const route = useRoute();
  const isHere = "agent" in route && route.agent === summary.id;
  const [wish, setWish] = useState(() => remembered(`open.${summary.id}`));
  const isExpanded = wish === null ? isHere : wish === "yes";
  const toggle = () => {
    const next = isExpanded ? "no" : "yes";
    keep(`open.${summary.id}`, next);
    setWish(next);
  };
  return (
    <section className="mb-1" aria-label={summary.name}>
      <div className="flex items-center">
        <button
          type="button"
          onClick={toggle}
          aria-expanded={isExpanded}
          aria-label={`Team of ${summary.name}`}
          className="grid size-11 shrink-0 place-items-center rounded-md text-dim hover:bg-hover md:size-6"
        >
          <ChevronRight className={`size-3.5 transition-transform ${isExpanded ? "rotate-90" : ""}`} aria-hidden />
        </button>
        <Link
          to={{ screen: "entity", agent: summary.id, worker: COORDINATOR }}
          className="flex min-h-11 min-w-0 flex-1 items-center gap-2 rounded-md px-1 font-semibold hover:bg-hover md:min-h-8"
        >
          <span className="truncate">{summary.name}</span>
          <span className="ml-auto flex items-center gap-1.5 pr-1">
            {!isExpanded && <Badge asked={summary.open_questions} unread={summary.unread} />}
            {isHere ? <StatusHere id={summary.id} /> : <StatusDot status={statusOfSummary(summary)} />}
          </span>
        </Link>
      </div>
      {isExpanded && <Team id={summary.id} />}
    </section>
  );
}

/** Of the agent that is looked at: at the moment that is shown. */
function StatusHere({ id }: { id: string }) {
  const status = useOfAgent(id, ({ situation }) => (situation ? statusNow(situation) : "idle"));
  return <StatusDot status={status} />;
}

interface TeamRow {
  id: string;
  name: string;
  /** Who they are, in a few words. */
  identity: string;
  status: Status;
  asked: number;
  unread: number;
}

function Team({ id }: { id: string }) {
  const [coordinator, ...workers] = useTeamRows(id);
  const route = useRoute();
  const isHere = "agent" in route && route.agent === id;
  const isKnown = coordinator !== undefined;
  const { hasInbox } = useAgents();
  const writes = useOfAgent(id, ({ situation }) => situation !== null && isWriting(situation));
  const team = useRef<HTMLDivElement>(null);
  // Anyone who comes by a link, the palette or *Needs you* sees the team, however many agents there are; also when *Needs
  // you*, which comes later, has taken its place above.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it may be out of sight again then
  useEffect(() => {
    if (!isHere || !isKnown) return;
    // On a phone the menu around it opens only after this.
    const frame = requestAnimationFrame(() => team.current?.parentElement?.scrollIntoView({ block: "nearest" }));
    return () => cancelAnimationFrame(frame);
  }, [isHere, isKnown, hasInbox]);
  const isAt = (screen: PagePlace["screen"]) => isHere && route.screen === screen;
  const isWith = (worker: string) => isAt("entity") && "worker" in route && route.worker === worker;
  const { shown, more } = useMore(workers, MOST_MEMBERS, (member) => isWith(member.id));
  return (
    <div ref={team} className="mb-2">
      <div data-team className={crowd(workers, "working")}>
        <Link to={{ screen: "entity", agent: id, worker: COORDINATOR }} current={isWith(COORDINATOR)} className={ROW}>
          <Star className="size-3 shrink-0 fill-current text-accent" aria-hidden />
          <span className="truncate">Coordinator</span>
          <span className="ml-auto flex items-center gap-1.5">
            {coordinator && <Badge {...coordinator} />}
            <StatusDot status={coordinator?.status ?? "idle"} />
          </span>
        </Link>
        {shown.map((member) => (
          <MemberLink key={member.id} agent={id} member={member} isHere={isWith(member.id)} />
        ))}
      </div>
      {more && <div className="pl-5">{more}</div>}
      <div className="my-1 ml-7 border-t border-line" />
      {TABS.filter(({ screen }) => screen !== "changes" || writes).map(({ screen, label, Icon }) => (
        <Link key={screen} to={placeOf(screen, id)} current={isAt(screen)} className={`${ROW} text-dim`}>
          <Icon className="size-3.5 shrink-0" aria-hidden />
          {label}
        </Link>
      ))}
    </div>
  );
}

function MemberLink({ agent, member, isHere }: { agent: string; member: TeamRow; isHere: boolean }) {
  return (
    <Link to={{ screen: "entity", agent, worker: member.id }} current={isHere} className={ROW}>
      <StatusDot status={member.status} />
      <span className={`shrink-0 ${member.status === "retired" ? "text-dim" : ""}`}>{member.name}</span>
      <span className="min-w-0 truncate text-xs font-normal text-dim">{member.identity}</span>
      <span className="ml-auto shrink-0">
        <Badge {...member} />
      </span>
    </Link>
  );
}

/** An agent that has worked for months has had hundreds; those who are gone come last. */
const MOST_MEMBERS = 100;

/** Drawn again only when one of these few things changes, not with every fact. */
function useTeamRows(id: string): TeamRow[] {
  const told = useOfAgent(id, ({ situation }) => (situation ? JSON.stringify(teamRowsOf(situation)) : "[]"));
  return useMemo(() => JSON.parse(told) as TeamRow[], [told]);
}

/** The coordinator, then those who wait for the person; those who are gone come last, the others as they came. */
function teamRowsOf(now: Situation): TeamRow[] {
  const unread = unreadByWorker(now);
  const asked = new Map<string, number>();
  for (const { worker_id } of Object.values(now.questions.open)) asked.set(worker_id, (asked.get(worker_id) ?? 0) + 1);
  const rows = Object.values(now.roster).map(
    (worker): TeamRow => ({
      id: worker.id,
      name: worker.id === HUMAN ? "You" : worker.spawned.name,
      identity: gist(worker.spawned.identity ?? "").slice(0, 60),
      status: statusInTeam(now, worker.id),
      asked: asked.get(worker.id) ?? 0,
      unread: unread.get(worker.id) ?? 0,
    }),
  );
  const rank = ({ id, status }: TeamRow) =>
    id === COORDINATOR ? 0 : status === "asking" ? 1 : status === "retired" ? 3 : 2;
  return rows.sort((a, b) => rank(a) - rank(b));
}

/** Who waits for the person stands out; how much there is to read stands there more quietly. */
function Badge({ asked, unread }: Pick<TeamRow, "asked" | "unread">) {
  if (asked > 0)
    return (
      <span className="rounded-full bg-wait px-1.5 text-[11px] leading-4 font-semibold text-page">
        {asked}
        <span className="sr-only"> waiting for you</span>
      </span>
    );
  if (unread === 0) return null;
  return (
    <span
      className="rounded-full border border-accent px-1.5 text-[11px] leading-3.5 font-semibold text-accent"
      title={count(unread, "unread message")}
    >
      <span aria-hidden>{unread}</span>
      <span className="sr-only">{count(unread, "unread message")}</span>
    </span>
  );
}

type Tab = Exclude<PagePlace["screen"], "home" | "entity" | "mesh">;

const TABS: readonly { screen: Tab; label: string; Icon: LucideIcon }[] = [
  { screen: "board", label: "Board", Icon: Columns3 },
  { screen: "changes", label: "Changes", Icon: GitCompare },
  { screen: "timeline", label: "Timeline", Icon: History },
  { screen: "files", label: "Files", Icon: Files },
  { screen: "memory", label: "Memory", Icon: NotebookText },
  { screen: "triggers", label: "Triggers", Icon: AlarmClock },
];

function placeOf(screen: Tab, agent: string): PagePlace {
  if (screen === "board" || screen === "changes") return { screen, agent, node: null };
  return screen === "timeline" || screen === "triggers" ? { screen, agent } : { screen, agent, path: "" };
}
