import { memo, useEffect, useSyncExternalStore } from "react";
import { HUMAN } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { useEntryBook } from "../live/entries.ts";
import { QuestionCard } from "../questions/question-card.tsx";
import { Link } from "../shell/link.tsx";
import type { PagePlace } from "../shell/route.ts";
import { clockTime, dayOf, exactTime } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { MessageBlock, nameOf } from "./message-block.tsx";
import { Published, Result } from "./results.tsx";
import type { LineSubject, RowTone, StreamItem } from "./stream-item.ts";
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
      return <Published agent={agent} item={item} />;
    case "result":
      return <Result agent={agent} item={item} />;
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
  const isPlain = item.from === HUMAN && item.to === worker;
  const receipt = item.from === HUMAN && item.receipt ? { note: RECEIPTS[item.receipt] } : {};
  return (
    <MessageBlock
      agent={agent}
      from={item.from}
      {...(!isPlain && { to: item.to })}
      ts={item.ts}
      {...(item.is ? { note: item.is } : receipt)}
      isContinued={isContinued}
    >
      <Markdown text={item.text} />
    </MessageBlock>
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
  const connection = useSyncExternalStore(agents.subscribe, () => agents.opened);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what could not be read is read when the server is back
  useEffect(() => {
    if (words === undefined) book.want(item.ts);
  }, [book, item.ts, words, connection]);
  if (!words) return <div className="h-px" />;
  return (
    <MessageBlock agent={agent} from={worker} ts={item.ts} isContinued={goesOn(previous, item.ts, worker)}>
      <Markdown text={words} />
    </MessageBlock>
  );
}

/** Two lines of it are in sight. */
const MOST_LINE = 1000;

const TONES: Record<RowTone, string> = {
  plain: "text-dim",
  wait: "text-wait",
  bad: "text-bad",
  stage: "font-semibold text-ink",
};

function EventLine({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "line" }> }) {
  const text = (
    <span className="line-clamp-2 [overflow-wrap:anywhere]">
      {item.who && (
        <>
          <bdi className="font-medium">{nameOf(agent, item.who)}</bdi>{" "}
        </>
      )}
      {item.text.length > MOST_LINE ? `${item.text.slice(0, MOST_LINE)}…` : item.text}
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

function placeOf(agent: string, { worker, node, isMemory, isLater }: LineSubject): PagePlace | null {
  if (worker) return { screen: "entity", agent, worker };
  if (node) return { screen: "board", agent, node };
  if (isMemory) return { screen: "memory", agent, path: "" };
  return isLater ? { screen: "triggers", agent } : null;
}
