import { ChevronRight } from "lucide-react";
import { useEffect, useState } from "react";
import { agents } from "../live/agents.ts";
import { useEntryBook } from "../live/entries.ts";
import { StatusDot } from "../shell/status.tsx";
import { clockTime, exactTime, firstLine, milliseconds } from "../text/figures.ts";
import { visible, visibleLines } from "../text/visible.ts";
import type { StreamItem } from "./stream-item.ts";

/** A call and its result in one line; the whole of both when it is opened. */
export function ToolCard({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "tool" }> }) {
  const [isOpen, setOpen] = useState(false);
  const { result } = item;
  const status = result === null ? "working" : result.ok ? "done" : "failed";
  return (
    <div className="px-3 py-0.5 pl-12 md:px-5 md:pl-14">
      <div
        className={`max-w-[49rem] rounded-md ${isOpen ? "border border-line bg-raised" : "border border-transparent"}`}
      >
        <button
          type="button"
          onClick={() => setOpen(!isOpen)}
          aria-expanded={isOpen}
          className="flex min-h-11 w-full items-center gap-2 rounded-md px-2 text-left text-[13px] hover:bg-hover md:min-h-7"
        >
          <ChevronRight
            className={`size-3.5 shrink-0 text-dim transition-transform ${isOpen ? "rotate-90" : ""}`}
            aria-hidden
          />
          <StatusDot status={status} />
          <span className="shrink-0 font-mono text-xs font-semibold">{visible(item.tool).slice(0, 80)}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-xs text-dim">
            {firstLine(item.gist)}
            {result && !isOpen && <span className={result.ok ? "" : "text-bad"}> → {firstLine(result.gist)}</span>}
          </span>
          {result && result.ms >= 1 && <span className="shrink-0 text-xs text-dim">{milliseconds(result.ms)}</span>}
          <time className="hidden shrink-0 text-xs text-dim sm:inline" title={exactTime(item.ts)}>
            {clockTime(item.ts)}
          </time>
        </button>
        {isOpen && <Detail agent={agent} item={item} />}
      </div>
    </div>
  );
}

function Detail({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "tool" }> }) {
  const book = useEntryBook(agent, item.worker_id);
  const call = book.calls.get(item.call_id);
  const isMissing = !call || (call.result === null && item.result !== null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a result that came is a reason to look again
  useEffect(() => {
    // By the server's clock: this machine's may be another.
    const newest = agents.feed(agent).facts.at(-1)?.ts ?? item.ts;
    if (isMissing) book.want(item.result ? newest : item.ts);
    if (isMissing) book.want(item.ts);
  }, [book, isMissing, item.result]);
  return (
    <div className="space-y-2 border-t border-line px-3 py-2">
      <Block label="Call" text={call ? shown(call.args) : item.gist} />
      {item.result && <Block label={item.result.ok ? "Result" : "Failed"} text={call?.result ?? item.result.gist} />}
    </div>
  );
}

function Block({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <p className="text-xs font-semibold text-dim">{label}</p>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="mt-0.5 max-h-80 overflow-auto rounded font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        {visibleLines(text.slice(0, MOST))}
        {text.length > MOST && `\n… ${text.length - MOST} more characters`}
      </pre>
    </div>
  );
}

const MOST = 40_000;

function shown(args: unknown): string {
  if (typeof args !== "object" || args === null) return String(args);
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value, null, 2)}`)
    .join("\n");
}
