import { ChevronRight, Columns3, Files, History, NotebookText, Star } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Situation, WorkerState } from "../../../src/projections/index.ts";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import type { AgentSummary } from "../live/api.ts";
import { useAgent } from "../live/use-live.ts";
import { Link } from "../shell/link.tsx";
import { keep, recall } from "../shell/memo.ts";
import { type Place, useRoute } from "../shell/route.ts";
import { StatusDot, statusOfAgent, statusOfWorker } from "../shell/status.tsx";
import { unreadFrom } from "../shell/unread.ts";

const ROW =
  "flex min-h-11 items-center gap-2 rounded-md pr-2 pl-7 text-[13px] hover:bg-hover md:min-h-7 aria-[current]:bg-tint aria-[current]:font-semibold";

/** One agent: who is in its team, and its other screens. Folded unless it is looked at or at work. */
export function AgentGroup({ summary }: { summary: AgentSummary }) {
  const route = useRoute();
  const isHere = "agent" in route && route.agent === summary.id;
  const [isOpen, setOpen] = useState(() => recall(`open.${summary.id}`) === "yes");
  const isUnfolded = isHere || isOpen;
  const toggle = () => {
    keep(`open.${summary.id}`, isOpen ? null : "yes");
    setOpen(!isOpen);
  };
  const waiting = summary.open_questions + summary.unread;
  return (
    <section className="mb-1" aria-label={summary.name}>
      <div className="flex items-center">
        <button
          type="button"
          onClick={toggle}
          aria-expanded={isUnfolded}
          aria-label={`Team of ${summary.name}`}
          className="grid size-11 shrink-0 place-items-center rounded-md text-dim hover:bg-hover md:size-6"
        >
          <ChevronRight className={`size-3.5 transition-transform ${isUnfolded ? "rotate-90" : ""}`} aria-hidden />
        </button>
        <Link
          to={{ screen: "entity", agent: summary.id, worker: COORDINATOR }}
          className="flex min-h-11 min-w-0 flex-1 items-center gap-2 rounded-md px-1 font-semibold hover:bg-hover md:min-h-8"
        >
          <span className="truncate">{summary.name}</span>
          <span className="ml-auto flex items-center gap-1.5 pr-1">
            {!isUnfolded && <Badge count={waiting} isUrgent={summary.open_questions > 0} />}
            <StatusDot status={statusOfAgent(summary.status)} />
          </span>
        </Link>
      </div>
      {isUnfolded && <Team id={summary.id} />}
    </section>
  );
}

function Team({ id }: { id: string }) {
  const { situation } = useAgent(id);
  const route = useRoute();
  const isAt = (screen: Place["screen"]) => "agent" in route && route.agent === id && route.screen === screen;
  const isWith = (worker: string) => isAt("entity") && "worker" in route && route.worker === worker;
  const workers = situation ? Object.values(situation.roster).filter((worker) => worker.id !== COORDINATOR) : [];
  const tab = (screen: "board" | "timeline" | "files" | "memory", icon: ReactNode, label: string) => (
    <Link to={placeOf(screen, id)} current={isAt(screen)} className={`${ROW} text-dim`}>
      {icon}
      {label}
    </Link>
  );
  return (
    <div className="mb-2">
      <Link to={{ screen: "entity", agent: id, worker: COORDINATOR }} current={isWith(COORDINATOR)} className={ROW}>
        <Star className="size-3 shrink-0 fill-current text-accent" aria-hidden />
        <span className="truncate">Coordinator</span>
        <span className="ml-auto flex items-center gap-1.5">
          <EntityBadge situation={situation} worker={COORDINATOR} />
          <StatusDot status={statusOfWorker(situation?.roster[COORDINATOR])} />
        </span>
      </Link>
      {inOrder(workers).map((worker) => (
        <Link
          key={worker.id}
          to={{ screen: "entity", agent: id, worker: worker.id }}
          current={isWith(worker.id)}
          className={ROW}
        >
          <StatusDot status={statusOfWorker(worker)} />
          <span className={`truncate ${worker.status === "retired" ? "text-dim" : ""}`}>{worker.spawned.name}</span>
          <span className="ml-auto">
            <EntityBadge situation={situation} worker={worker.id} />
          </span>
        </Link>
      ))}
      <div className="my-1 ml-7 border-t border-line" />
      {tab("board", <Columns3 className="size-3.5 shrink-0" aria-hidden />, "Board")}
      {tab("timeline", <History className="size-3.5 shrink-0" aria-hidden />, "Timeline")}
      {tab("files", <Files className="size-3.5 shrink-0" aria-hidden />, "Files")}
      {tab("memory", <NotebookText className="size-3.5 shrink-0" aria-hidden />, "Memory")}
    </div>
  );
}

function EntityBadge({ situation, worker }: { situation: Situation | null; worker: string }) {
  if (!situation) return null;
  const asked = Object.values(situation.questions.open).filter((question) => question.worker_id === worker).length;
  const unread = unreadFrom(situation, worker);
  return <Badge count={Math.max(asked, unread)} isUrgent={asked > 0} />;
}

function Badge({ count, isUrgent }: { count: number; isUrgent: boolean }) {
  if (count === 0) return null;
  return (
    <span
      className={`rounded-full px-1.5 text-[11px] leading-4 font-semibold ${isUrgent ? "bg-wait text-page" : "bg-accent text-on-accent"}`}
    >
      {count}
      <span className="sr-only">{isUrgent ? " waiting for you" : " new"}</span>
    </span>
  );
}

/** Those who wait for the person first, those who are gone last; otherwise as they came. */
function inOrder(workers: readonly WorkerState[]): WorkerState[] {
  const rank = (worker: WorkerState) => {
    if (worker.status === "waiting" && worker.for === "human") return 0;
    return worker.status === "retired" ? 2 : 1;
  };
  return workers.toSorted((a, b) => rank(a) - rank(b));
}

export function placeOf(screen: "board" | "timeline" | "files" | "memory", agent: string): Place {
  if (screen === "board") return { screen, agent, node: null };
  return screen === "timeline" ? { screen, agent } : { screen, agent, path: "" };
}
