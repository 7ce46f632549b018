import { ChevronRight, Menu } from "lucide-react";
import type { ReactNode } from "react";
import type { NodeState, Situation, Tally } from "../../../src/projections/index.ts";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import type { AgentView } from "../live/view.ts";
import { Link } from "../shell/link.tsx";
import { openOverlay } from "../shell/overlay.ts";
import { colourOf, labelOf, StatusDot, statusInTeam, statusNow, statusWords } from "../shell/status.tsx";
import { amount, clockTime, costOf, firstLine, gist, money } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { Controls } from "./controls.tsx";
import { nameOf } from "./message-block.tsx";
import { restore } from "./steering.ts";
import { TroubleBanner } from "./trouble-banner.tsx";

/** The header of every screen: where one is and, on narrow pages, the way to the sidebar. */
export function ScreenHeader({
  title,
  detail,
  children,
}: {
  title: ReactNode;
  detail?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <header className="flex min-h-14 shrink-0 items-center gap-3 border-b border-line px-3 py-1.5 md:px-5">
      <button
        type="button"
        onClick={() => openOverlay("sidebar")}
        className="-ml-2 grid size-11 shrink-0 place-items-center rounded-md hover:bg-hover md:hidden"
        aria-label="Agents"
      >
        <Menu className="size-5" aria-hidden />
      </button>
      <div className="min-w-0 flex-1">
        <h1 className="flex items-center gap-2 text-[15px] leading-tight font-semibold">{title}</h1>
        {detail && (
          <div className="mt-0.5 line-clamp-2 text-xs text-dim [overflow-wrap:anywhere] md:line-clamp-1">{detail}</div>
        )}
      </div>
      {children}
    </header>
  );
}

export function EntityHeader({ view, situation, worker }: { view: AgentView; situation: Situation; worker: string }) {
  const { roster, board, spending, agent } = situation;
  const person = roster[worker];
  const isCoordinator = worker === COORDINATOR;
  const status = isCoordinator ? statusNow(situation) : statusInTeam(situation, worker);
  const node = person && "node_id" in person && person.node_id ? board.nodes[person.node_id] : undefined;
  const own = spending.by_worker[worker];
  const tally = isCoordinator ? spending.total : own;
  // Beside what all of them spent stands what the coordinator did, where that is not the same.
  const isShare = isCoordinator && tokensOf(own) < tokensOf(spending.total);
  const budget = isCoordinator && agent.created.budget_usd !== null ? ` of ${money(agent.created.budget_usd)}` : "";
  const model = person?.spawned.model ?? agent.created.model;
  return (
    <>
      <ScreenHeader
        title={
          <>
            <span className="truncate">{isCoordinator ? agent.created.name : nameOf(view.id, worker)}</span>
            <span className={`flex shrink-0 items-center gap-1 text-xs font-medium ${colourOf(status)}`}>
              <StatusDot status={status} isBeside />
              <span className="sr-only sm:not-sr-only">{isCoordinator ? statusWords(situation) : labelOf(status)}</span>
            </span>
          </>
        }
        detail={
          <>
            <Spent tally={tally} />
            {budget}
            {isShare && (
              <>
                {" "}
                · itself <Spent tally={own} />
              </>
            )}{" "}
            · <span className="font-mono">{model}</span>
            {!isCoordinator &&
              ` · ${[agent.created.name, gist(person?.spawned.identity ?? "")].filter(Boolean).join(" · ")}`}
          </>
        }
      >
        {/* They are about the whole agent, and so they stand with its coordinator. */}
        {isCoordinator && view.state !== "replay" && <Controls agent={agent} />}
      </ScreenHeader>
      {model.startsWith("demo/") && (
        <p className="shrink-0 border-b border-line bg-tint px-3 py-1.5 text-xs md:px-5">
          <strong>Demo.</strong> {model} follows fixed rules and is not a language model. For a real model, set a key
          such as ANTHROPIC_API_KEY or run Ollama.
        </p>
      )}
      {agent.archived_ts !== null && view.state !== "replay" && <PutAway agent={agent.id} />}
      <TroubleBanner situation={situation} worker={worker} />
      {node && <CurrentNode agent={view.id} node={node} progress={progressOf(view, node, worker)} />}
    </>
  );
}

function tokensOf(tally: Tally | undefined): number {
  return tally ? tally.usage.input + tally.usage.output : 0;
}

function Spent({ tally }: { tally: Tally | undefined }) {
  const tokens = tokensOf(tally);
  return (
    <>
      <span title={`${tokens} tokens in ${tally?.calls ?? 0} calls`}>{amount(tokens)} tokens</span> · {costOf(tally)}
    </>
  );
}

/** Anyone with an old link sees why it is in no list. */
function PutAway({ agent }: { agent: string }) {
  return (
    <p className="flex shrink-0 items-center gap-2 border-b border-line bg-wait-tint px-3 py-1 text-[13px] text-wait md:px-5">
      This agent is archived. Nothing was erased.
      <button
        type="button"
        onClick={() => restore(agent)}
        className="min-h-11 rounded-md px-2 font-semibold underline md:min-h-7"
      >
        Restore
      </button>
    </p>
  );
}

/** How far they are with it, as far as anybody can tell from outside. */
function progressOf({ facts }: AgentView, node: NodeState, worker: string): string {
  const called = facts.findLast(({ type, data }) => type === "model.called" && data.worker_id === worker);
  const turn = called?.type === "model.called" && called.data.node_id === node.id ? `turn ${called.data.turn}` : null;
  const since = node.status === "running" ? `since ${clockTime(node.started_ts)}` : null;
  return [since, turn, node.spent_usd > 0 ? money(node.spent_usd) : null].filter(Boolean).join(" · ");
}

/** What they work on, how far they are, and on demand all that was asked of them. */
function CurrentNode({ agent, node, progress }: { agent: string; node: NodeState; progress: string }) {
  return (
    <details className="group shrink-0 border-b border-line bg-raised text-[13px]">
      <summary className="flex min-h-11 items-center gap-2 px-3 hover:bg-hover md:min-h-8 md:px-5">
        <ChevronRight className="size-3.5 shrink-0 text-dim transition-transform group-open:rotate-90" aria-hidden />
        <span className="shrink-0 font-mono text-xs text-dim">{node.id}</span>
        <span className="truncate">{firstLine(node.spec.task)}</span>
        <span className="ml-auto shrink-0 text-xs text-dim">
          <span className="hidden sm:inline">{progress && `${progress} · `}</span>spec
        </span>
      </summary>
      <div className="max-h-[40dvh] overflow-y-auto px-3 pt-1 pb-3 md:px-5 md:pl-11">
        <Markdown text={node.spec.task} />
        <Link
          to={{ screen: "board", agent, node: node.id }}
          className="mt-2 inline-flex min-h-11 items-center text-accent underline md:min-h-8"
        >
          {node.id} on the board
        </Link>
      </div>
    </details>
  );
}
