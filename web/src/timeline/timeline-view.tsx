import { memo, useEffect, useMemo, useState } from "react";
import type { Fact } from "../../../src/protocol/index.ts";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Loading, Nowhere } from "../entity/entity-view.tsx";
import { nameOf } from "../entity/message-block.tsx";
import { agents } from "../live/agents.ts";
import { wholeLog } from "../live/replay.ts";
import { useAgent, usePaced } from "../live/use-live.ts";
import { useMore } from "../shell/more.tsx";
import { goTo, useRoute } from "../shell/route.ts";
import { age, clockTime, count, exactTime, secondTime } from "../text/figures.ts";
import { factWords } from "./fact-words.ts";
import { axisOf, drawnOf, type Period, periodsIn } from "./periods.ts";

/** A bar for each worker, and every fact: a click goes to that moment, on this and on every other screen. */
export default function TimelineView({ agent }: { agent: string }) {
  const view = useAgent(agent);
  const { at } = useRoute();
  // A busy log is drawn in steps, not fact by fact.
  const newest = usePaced(agents.feed(agent).newest, 1000);
  const facts = useWholeLog(agent, newest);
  const length = facts?.length ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the log only grows; its length says that it did
  const periods = useMemo(() => (facts ? periodsIn(facts, facts.at(-1)?.ts ?? 0) : []), [facts, length]);
  const { situation } = view;
  if (view.state === "gone") return <Nowhere what={`There is no agent ${agent}.`} />;
  // Also in replay: who came after the moment has a bar, and a name only in what is so now.
  if (!situation || !facts || !agents.feed(agent).situation) return <Loading />;
  const moment = at === null ? undefined : facts[at - 1];
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader title="Timeline" detail={`${situation.agent.created.name} · ${count(facts.length, "fact")}`} />
      {/* In replay the bar above every screen has it. */}
      {at === null && <Scrubber newest={Math.max(newest, facts.length)} />}
      <div className="min-h-0 flex-1 overflow-y-auto bg-page">
        <Bars agent={agent} periods={periods} moment={moment} />
        <FactList agent={agent} facts={facts} at={at ?? length} />
      </div>
    </div>
  );
}

const AGAIN_MS = 3000;

/** Read once; what comes later the live feed brings. Null until there is some of it. What could not be read is read again. */
function useWholeLog(agent: string, newest: number): readonly Fact[] | null {
  const log = wholeLog(agent);
  const [reads, setReads] = useState(0);
  if (log.facts.length < newest) log.catchUp();
  const isBehind = log.facts.length < newest;
  useEffect(() => {
    if (!isBehind) return;
    let isWanted = true;
    let looking: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const isStillBehind = wholeLog(agent).facts.length < newest;
      if (isWanted) looking = setTimeout(() => setReads(reads + 1), isStillBehind ? AGAIN_MS : 0);
    };
    wholeLog(agent).upTo(newest).then(look, look);
    return () => {
      isWanted = false;
      clearTimeout(looking);
    };
  }, [agent, isBehind, newest, reads]);
  return log.facts.length === 0 ? null : log.facts;
}

/** Moving it begins the replay. */
function Scrubber({ newest }: { newest: number }) {
  return (
    <div className="flex shrink-0 items-center gap-3 border-b border-line px-3 py-2 md:px-5">
      <label className="flex min-w-0 flex-1 items-center gap-3 text-[13px]">
        <span className="shrink-0 font-semibold">Moment</span>
        <input
          type="range"
          min={1}
          max={newest}
          value={newest}
          onChange={(event) => goTo(Number(event.target.value))}
          aria-valuetext={`fact ${newest} of ${newest}`}
          className="h-11 min-w-0 flex-1 accent-(--accent) md:h-8"
        />
      </label>
      <span className="shrink-0 text-xs text-dim">now</span>
    </div>
  );
}

const MOST_BARS = 100;

const COLOURS: Record<Period["kind"], string> = { busy: "bg-busy", waiting: "bg-off/50", asking: "bg-wait" };
const WORDS: Record<Period["kind"], string> = {
  busy: "working",
  waiting: "waiting for the team",
  asking: "waiting for you",
};

const Bars = memo(function Bars({
  agent,
  periods,
  moment,
}: {
  agent: string;
  periods: readonly Period[];
  moment: Fact | undefined;
}) {
  const axis = axisOf(periods);
  const drawn = Map.groupBy(drawnOf(periods, axis), ({ worker }) => worker);
  // In the order they began, not in the order they ended.
  const workers = [...new Set(periods.toSorted((a, b) => a.seq - b.seq).map(({ worker }) => worker))];
  const { shown, more } = useMore(workers, MOST_BARS, () => false);
  if (workers.length === 0) return <p className="p-5 text-dim">No one has worked yet.</p>;
  const percent = (ts: number) => axis.place(ts) * 100;
  const from = periods.reduce((least, period) => Math.min(least, period.from), Number.POSITIVE_INFINITY);
  const to = periods.reduce((most, period) => Math.max(most, period.to), 0);
  return (
    <section aria-label="Who worked when" className="border-b border-line px-3 py-3 md:px-5">
      <div className="grid grid-cols-[minmax(5rem,9rem)_1fr] items-center gap-x-3">
        {shown.map((worker, index) => (
          <div key={worker} className="contents">
            <span className="col-start-1 truncate text-[13px]" style={{ gridRow: index + 1 }}>
              {nameOf(agent, worker)}
            </span>
            <div className="relative isolate col-start-2 h-7 border-l border-line" style={{ gridRow: index + 1 }}>
              {drawn.get(worker)?.map((period) => (
                <Bar key={period.seq} period={period} name={nameOf(agent, worker)} percent={percent} />
              ))}
            </div>
          </div>
        ))}
        {/* Across all of them: what is so for everybody is there once. */}
        <div
          className="pointer-events-none relative col-start-2 self-stretch"
          style={{ gridRow: `1 / span ${shown.length}` }}
        >
          {axis.breaks.map(({ at, seconds }) => (
            <span
              key={at}
              title={`no one worked for ${age(seconds)}`}
              className="pointer-events-auto absolute inset-y-0 w-px border-l border-dashed border-off"
              style={{ left: `${at * 100}%` }}
            />
          ))}
          {moment && (
            <span
              className="keeps-colour absolute inset-y-0 w-0.5 bg-accent"
              style={{ left: `${percent(moment.ts)}%` }}
            />
          )}
        </div>
      </div>
      {more}
      <Legend from={from} to={to} />
    </section>
  );
});

interface BarProps {
  period: Period;
  name: string;
  percent: (ts: number) => number;
}

function Bar({ period, name, percent }: BarProps) {
  const width = Math.max(0, percent(period.to) - percent(period.from));
  return (
    <button
      type="button"
      onClick={() => goTo(period.seq)}
      aria-label={`${name} ${WORDS[period.kind]}${period.node ? ` on ${period.node}` : ""} from ${clockTime(period.from)}`}
      title={`${WORDS[period.kind]}${period.node ? ` · ${period.node}` : ""} · ${exactTime(period.from)}`}
      className={`keeps-colour absolute top-1.5 h-4 min-w-[3px] rounded-sm hover:opacity-80 ${COLOURS[period.kind]}`}
      style={{
        left: `min(${percent(period.from)}%, 100% - 3px)`,
        width: `${width}%`,
        // A short bar is wider than its time, and must not lie under the long one that follows.
        zIndex: 100 - Math.ceil(width),
      }}
    />
  );
}

function Legend({ from, to }: { from: number; to: number }) {
  return (
    <p className="mt-2 flex flex-wrap gap-x-4 text-xs text-dim">
      {(["busy", "waiting", "asking"] as const).map((kind) => (
        <span key={kind} className="flex items-center gap-1.5">
          <span aria-hidden className={`keeps-colour size-2.5 rounded-sm ${COLOURS[kind]}`} />
          {WORDS[kind]}
        </span>
      ))}
      <span>┊ idle time, shortened</span>
      <span className="tabular-nums md:ml-auto">
        from {secondTime(from)} to {secondTime(to)}
      </span>
    </p>
  );
}

const AROUND = 100;

/** The facts up to the moment, newest first. */
const FactList = memo(function FactList({ agent, facts, at }: { agent: string; facts: readonly Fact[]; at: number }) {
  const earlier = Math.max(0, at - AROUND);
  const shown = facts.slice(earlier, at).reverse();
  return (
    <ol className="px-3 py-2 md:px-5" aria-label="Facts">
      {shown.map((fact) => (
        <li key={fact.seq}>
          <button
            type="button"
            onClick={() => goTo(fact.seq)}
            className="flex min-h-11 w-full items-center gap-3 rounded-md px-2 py-1 text-left text-xs hover:bg-hover md:min-h-0"
          >
            <span className="w-10 shrink-0 text-right font-mono text-dim tabular-nums">{fact.seq}</span>
            <time className="hidden shrink-0 text-dim tabular-nums sm:inline">{secondTime(fact.ts)}</time>
            <span className="hidden w-36 shrink-0 truncate font-mono text-dim lg:inline">{fact.type}</span>
            <span
              className={`line-clamp-2 min-w-0 [overflow-wrap:anywhere] md:line-clamp-1 ${fact.seq === at ? "font-semibold" : ""}`}
            >
              {factWords(fact, (id) => nameOf(agent, id))}
            </span>
          </button>
        </li>
      ))}
      {earlier > 0 && (
        <li>
          <button
            type="button"
            onClick={() => goTo(earlier)}
            className="min-h-11 rounded-md px-2 text-xs font-semibold text-accent hover:bg-hover md:min-h-8"
          >
            {count(earlier, "earlier fact")}: go to that moment
          </button>
        </li>
      )}
    </ol>
  );
});
