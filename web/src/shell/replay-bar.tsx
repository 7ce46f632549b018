import { ChevronLeft, ChevronRight, X } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useSyncExternalStore } from "react";
import type { Fact } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { useAgent } from "../live/use-live.ts";
import { exactTime } from "../text/figures.ts";
import { goTo } from "./route.ts";

/** The sentences for facts are loaded with the screens that show many of them. */
const FactLine = lazy(() => import("../timeline/fact-line.tsx"));

const BUTTON = "grid size-11 shrink-0 place-items-center rounded-md hover:bg-hover md:size-8";

/** In replay every screen shows the moment that is selected here. */
export function ReplayBar({ agent, at }: { agent: string; at: number }) {
  const view = useAgent(agent);
  const feed = agents.feed(agent);
  const subscribe = useCallback((listener: () => void) => feed.subscribe(listener), [feed]);
  const end = useSyncExternalStore(subscribe, () => feed.newest);
  const newest = Math.max(end, at);
  const moment = view.facts.at(-1);
  // An address may name a moment that is yet to come; how far the log goes may be known later than the moment.
  useEffect(() => {
    if (end > 0 && at > end) goTo(end);
  }, [at, end]);
  const move = (to: number) => goTo(Math.min(newest, Math.max(1, to)));
  return (
    <section
      aria-label="Replay"
      className="flex shrink-0 items-center gap-x-1 md:gap-x-2 border-b border-line bg-tint px-3 py-1 text-[13px] md:px-5"
    >
      <strong className="hidden text-accent md:inline">Replay</strong>
      <button type="button" className={BUTTON} onClick={() => move(at - 1)} aria-label="Previous fact">
        <ChevronLeft className="size-4" aria-hidden />
      </button>
      <input
        type="range"
        min={1}
        max={newest}
        value={at}
        onChange={(event) => move(Number(event.target.value))}
        aria-label="Moment"
        aria-valuetext={`fact ${at} of ${newest}`}
        className="h-11 min-w-24 flex-1 accent-(--accent) md:h-8"
      />
      <button type="button" className={BUTTON} onClick={() => move(at + 1)} aria-label="Next fact">
        <ChevronRight className="size-4" aria-hidden />
      </button>
      <span className="shrink-0 tabular-nums">
        {at}
        <span className="hidden sm:inline"> of {newest}</span>
      </span>
      <span className="hidden max-w-[45%] min-w-0 gap-1.5 text-dim lg:flex">
        {moment && <Moment agent={agent} fact={moment} />}
        {!moment && view.state === "loading" && "reading the log…"}
      </span>
      <button
        type="button"
        onClick={() => goTo(null)}
        className="flex min-h-11 shrink-0 items-center gap-1 rounded-md px-2 font-semibold text-accent hover:bg-hover md:min-h-8"
      >
        <X className="size-4" aria-hidden /> Now
      </button>
    </section>
  );
}

function Moment({ agent, fact }: { agent: string; fact: Fact }) {
  return (
    <>
      <span className="truncate">
        <Suspense fallback={fact.type}>
          <FactLine agent={agent} fact={fact} />
        </Suspense>
      </span>
      <span className="shrink-0">· {exactTime(fact.ts)}</span>
    </>
  );
}
