import { memo } from "react";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { give } from "../live/api.ts";
import type { AgentView, PendingWords, StreamedWords } from "../live/view.ts";
import { Markdown } from "../text/markdown.tsx";
import { MessageBlock } from "./message-block.tsx";

/** Words as the model streams them. They are not recorded yet. */
export const StreamedRow = memo(function StreamedRow({
  agent,
  worker,
  words,
}: {
  agent: string;
  worker: string;
  words: StreamedWords;
}) {
  return (
    <MessageBlock agent={agent} from={worker} ts={null} note="saying">
      {words.text ? (
        <div className="caret">
          <Markdown text={lastOf(words.text)} />
        </div>
      ) : (
        <p className="caret line-clamp-3 text-dim italic [overflow-wrap:anywhere]">{words.reasoning.slice(-400)}</p>
      )}
    </MessageBlock>
  );
});

const MOST_STREAMED = 16_000;
const STEP = 8000;

/**
 * Shows the end of what is being said; everything is there once it is recorded. The beginning stays fixed for a while,
 * so that text is not parsed again with every word.
 */
export function lastOf(text: string): string {
  if (text.length <= MOST_STREAMED) return text;
  const from = Math.ceil((text.length - MOST_STREAMED) / STEP) * STEP;
  const line = text.indexOf("\n", from);
  return `… ${from} characters before this\n\n${text.slice(line < 0 || line > from + 1000 ? from : line + 1)}`;
}

export function PendingRow({ view, pending }: { view: AgentView; pending: PendingWords }) {
  const again = () => {
    const feed = agents.feed(view.id);
    // Clicked twice, it is sent once.
    if (!feed.forget(pending)) return;
    if (pending.isHint) hint(view.id, pending.text);
    else say(view.id, pending.to, pending.text);
  };
  return (
    <MessageBlock
      agent={view.id}
      from="human"
      ts={null}
      note={pending.problem ? "not sent" : pending.isHint ? "hint, sending…" : "sending…"}
    >
      <Markdown text={pending.text} />
      {pending.problem && (
        <p role="alert" className="mt-1 flex flex-wrap items-center gap-2 text-bad">
          {pending.problem}
          <button type="button" onClick={again} className="min-h-11 rounded-md px-2 font-semibold underline md:min-h-8">
            Try again
          </button>
          <button
            type="button"
            onClick={() => agents.feed(view.id).forget(pending)}
            className="min-h-11 rounded-md px-2 underline md:min-h-8"
          >
            Discard
          </button>
        </p>
      )}
    </MessageBlock>
  );
}

/** Shows the message at once; it stays until the log has it or the server refuses it. */
export function say(agent: string, to: string, text: string): void {
  deliver(
    agent,
    agents.feed(agent).expect({ to, text, isHint: false }),
    give({ do: "send", id: agent, message: text, to }),
  );
}

/** A hint to the coordinator, which needs no answer. */
export function hint(agent: string, text: string): void {
  deliver(
    agent,
    agents.feed(agent).expect({ to: COORDINATOR, text, isHint: true }),
    give({ do: "nudge", id: agent, message: text }),
  );
}

function deliver(agent: string, pending: PendingWords, sending: Promise<unknown>): void {
  const feed = agents.feed(agent);
  sending.then(
    () => feed.taken(pending),
    (error: unknown) => feed.refused(pending, error instanceof Error ? error.message : String(error)),
  );
}
