import { FileText, PackageCheck } from "lucide-react";
import { memo, useEffect } from "react";
import { HUMAN, type NodeId } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { useEntryBook } from "../live/entries.ts";
import { QuestionCard } from "../questions/question-card.tsx";
import { Link } from "../shell/link.tsx";
import type { Place } from "../shell/route.ts";
import { clockTime, dayOf, exactTime, size } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { nameOf, Speech } from "./speech.tsx";
import type { LineSubject, StreamItem, Tone } from "./stream-items.ts";
import { ToolCard } from "./tool-card.tsx";

interface RowProps<K extends StreamItem["kind"]> {
  agent: string;
  worker: string;
  item: Extract<StreamItem, { kind: K }>;
  previous: StreamItem | undefined;
}

export const StreamRow = memo(function StreamRow(props: {
  agent: string;
  worker: string;
  item: StreamItem;
  previous: StreamItem | undefined;
}) {
  const { item, previous } = props;
  const isNewDay = !previous || dayOf(previous.ts) !== dayOf(item.ts);
  return (
    <>
      {isNewDay && <DayLine ts={item.ts} />}
      <Content {...props} />
    </>
  );
});

function Content({
  agent,
  worker,
  item,
  previous,
}: {
  agent: string;
  worker: string;
  item: StreamItem;
  previous: StreamItem | undefined;
}) {
  switch (item.kind) {
    case "message":
      return <Message agent={agent} worker={worker} item={item} previous={previous} />;
    case "words":
      return <Words agent={agent} worker={worker} item={item} previous={previous} />;
    case "tool":
      return <ToolCard agent={agent} item={item} />;
    case "question":
      return <QuestionCard agent={agent} item={item} />;
    case "published":
      return <Published agent={agent} worker={worker} item={item} previous={previous} />;
    case "result":
      return (
        <Speech agent={agent} from="coordinator" ts={item.ts} isForYou>
          <div
            className={`mt-1 rounded-lg border p-3 ${item.ok ? "border-ok/50 bg-raised" : "border-bad/50 bg-bad-tint"}`}
          >
            <p className={`mb-1 text-xs font-semibold ${item.ok ? "text-ok" : "text-bad"}`}>
              {item.ok ? "Finished" : "Failed"}
            </p>
            <Markdown text={item.text} />
            <Link
              to={{ screen: "files", agent, path: "" }}
              className="mt-1 inline-flex min-h-11 items-center gap-1.5 text-[13px] text-accent underline md:min-h-7"
            >
              <FileText className="size-3.5" aria-hidden /> What was written
            </Link>
          </div>
        </Speech>
      );
    case "line":
      return <EventLine agent={agent} item={item} />;
  }
}

function DayLine({ ts }: { ts: number }) {
  return (
    <div className="flex items-center gap-3 px-3 pt-2 pb-1 text-xs text-dim md:px-5">
      <span className="h-px flex-1 bg-line" />
      {dayOf(ts)}
      <span className="h-px flex-1 bg-line" />
    </div>
  );
}

function Message({ agent, worker, item, previous }: RowProps<"message">) {
  const isContinued = goesOn(previous, item.ts, item.from, item.to);
  // In somebody's own stream it goes without saying that what the person says is said to them.
  const isPlain = item.from === HUMAN ? item.to === worker : item.to === HUMAN;
  const receipt = item.from === HUMAN && item.receipt ? { note: RECEIPTS[item.receipt] } : {};
  return (
    <Speech
      agent={agent}
      from={item.from}
      {...(!isPlain && { to: item.to })}
      ts={item.ts}
      {...(item.is ? { note: item.is } : receipt)}
      isContinued={isContinued}
      isForYou={item.to === HUMAN}
    >
      <Markdown text={item.text} />
    </Speech>
  );
}

/** Whether the same person goes on speaking, with calls of theirs in between or not. */
function goesOn(previous: StreamItem | undefined, ts: number, from: string, to: string = HUMAN): boolean {
  if (!previous || ts - previous.ts >= 300) return false;
  if (previous.kind === "message") return previous.from === from && previous.to === to;
  return to === HUMAN && (previous.kind === "words" || previous.kind === "tool") && previous.worker_id === from;
}

const RECEIPTS = { queued: "sent", seen: "seen", expired: "not read: the run ended" };

/** What was thought aloud between the calls; the words are in the conversation's file. */
function Words({ agent, worker, item, previous }: RowProps<"words">) {
  const book = useEntryBook(agent, worker);
  const words = book.words.get(item.ts);
  useEffect(() => {
    if (words === undefined) book.want(item.ts);
  }, [book, item.ts, words]);
  if (!words) return <div className="h-px" />;
  return (
    <Speech agent={agent} from={worker} ts={item.ts} isContinued={goesOn(previous, item.ts, worker)}>
      <Markdown text={words} />
    </Speech>
  );
}

function Published({ agent, item }: RowProps<"published">) {
  const run = agents.feed(agent).situation?.board.nodes[item.node_id as NodeId]?.spec.run_id;
  return (
    <div className="px-3 py-1.5 pl-14 md:px-5 md:pl-16">
      <div className="max-w-[48rem] rounded-lg border border-line bg-raised p-3">
        <div className="flex items-center gap-2 text-[13px]">
          <PackageCheck className="size-4 shrink-0 text-ok" aria-hidden />
          <span className="font-semibold">{nameOf(agent, item.worker_id)} published</span>
          <Link
            to={{ screen: "board", agent, node: item.node_id }}
            className="flex min-h-11 items-center font-mono text-xs text-accent underline md:min-h-0"
          >
            {item.node_id}
          </Link>
          <time className="ml-auto text-xs text-dim" title={exactTime(item.ts)}>
            {clockTime(item.ts)}
          </time>
        </div>
        <div className="mt-1">
          <Markdown text={item.summary} />
        </div>
        <ul className="mt-2 flex flex-wrap gap-1.5">
          {item.files.slice(0, 12).map(({ path, bytes }) => (
            <li key={path}>
              <Link
                to={{ screen: "files", agent, path: `runs/${run}/nodes/${item.node_id}/published/${path}` }}
                className="flex min-h-11 items-center gap-1.5 rounded-md border border-line bg-page px-2 text-xs hover:bg-hover md:min-h-7"
              >
                <FileText className="size-3.5 shrink-0 text-dim" aria-hidden />
                <span className="max-w-60 truncate">{path}</span>
                <span className="text-dim">{size(bytes)}</span>
              </Link>
            </li>
          ))}
          {item.files.length > 12 && <li className="px-2 py-1 text-xs text-dim">and {item.files.length - 12} more</li>}
        </ul>
      </div>
    </div>
  );
}

const TONES: Record<Tone, string> = {
  plain: "text-dim",
  wait: "text-wait",
  bad: "text-bad",
  stage: "font-semibold text-ink",
};

function EventLine({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "line" }> }) {
  const text = (
    <span className="line-clamp-2 [overflow-wrap:anywhere]">
      {item.who && <span className="font-medium">{nameOf(agent, item.who)} </span>}
      {item.text}
    </span>
  );
  if (item.tone === "stage") {
    return (
      <div className="flex items-center gap-3 px-3 py-2 text-[13px] md:px-5">
        <span className="h-px w-8 shrink-0 bg-line" />
        <span className={TONES.stage}>{text}</span>
        <span className="h-px flex-1 bg-line" />
      </div>
    );
  }
  const to = placeOf(agent, item);
  return (
    <div className={`px-3 py-0.5 pl-14 text-[13px] md:px-5 md:pl-16 ${TONES[item.tone]}`}>
      <div className="flex max-w-[48rem] items-baseline gap-3">
        <div className="min-w-0 flex-1">
          {to ? (
            <Link to={to} className="flex min-h-11 items-center hover:underline md:block md:min-h-0">
              {text}
            </Link>
          ) : (
            text
          )}
        </div>
        <time className="shrink-0 text-xs text-dim" title={exactTime(item.ts)}>
          {clockTime(item.ts)}
        </time>
      </div>
    </div>
  );
}

function placeOf(agent: string, { worker, node, isMemory, isLater }: LineSubject): Place | null {
  if (worker) return { screen: "entity", agent, worker };
  if (node) return { screen: "board", agent, node };
  if (isMemory) return { screen: "memory", agent, path: "" };
  return isLater ? { screen: "triggers", agent } : null;
}
