import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { type MeshQueueName, meshMessage, type QueueOwner } from "../live/api.ts";
import { useLoaded } from "../live/use-live.ts";
import { clockTime, exactTime, gist } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible } from "../text/visible.ts";
import { IN_SIGHT, QUEUE_WORDS } from "./mesh-status.ts";
import { partsOf } from "./message-parts.ts";

type QueuedMessage = QueueOwner["queues"][MeshQueueName]["messages"][number];

interface Where {
  project: string;
  mesh: string;
  owner: QueueOwner;
}

/** All messages, queue by queue; of ended ones, the newest first. */
export function QueueList({ project, mesh, owner }: Where) {
  const filled = IN_SIGHT.filter((queue) => (owner.queues[queue]?.count ?? 0) > 0);
  if (filled.length === 0) return <p className="text-dim">Nothing has arrived yet.</p>;
  return (
    <>
      {filled.map((queue) => {
        const { count, messages } = owner.queues[queue];
        const isOver = queue === "complete" || queue === "archive" || queue === "quarantine";
        const shown = isOver ? messages.toReversed() : messages;
        return (
          <section key={queue} className="mb-5" aria-label={QUEUE_WORDS[queue]}>
            <h2 className="mb-1 text-xs font-semibold text-dim">
              {QUEUE_WORDS[queue]} <span className="font-normal">{count}</span>
            </h2>
            <ul className="divide-y divide-line rounded-lg border border-line">
              {shown.map((message) => (
                <li key={message.name}>
                  <MessageRow {...{ project, mesh, owner, queue, message }} />
                </li>
              ))}
            </ul>
            {count > messages.length && (
              <p className="mt-1 text-xs text-dim">
                {count - messages.length} more are in {queue}/.
              </p>
            )}
          </section>
        );
      })}
    </>
  );
}

function MessageRow({ queue, message, ...where }: Where & { queue: MeshQueueName; message: QueuedMessage }) {
  const [isOpen, setOpen] = useState(false);
  const { name, from, type, title, at, problem, failed } = message;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-11 w-full items-center gap-2 rounded-lg px-3 py-1.5 text-left hover:bg-hover"
      >
        <ChevronRight
          className={`size-3.5 shrink-0 text-dim transition-transform ${isOpen ? "rotate-90" : ""}`}
          aria-hidden
        />
        <span className="min-w-0 flex-1">
          <span className="block truncate">{problem === null ? gist(title) : visible(name)}</span>
          <span className={`block truncate text-xs ${problem === null && !failed ? "text-dim" : "text-bad"}`}>
            {visible(problem ?? `${failed ? "failed · " : ""}${type} from ${from}`)}
          </span>
        </span>
        <time className="shrink-0 text-xs text-dim" title={exactTime(at)}>
          {clockTime(at)}
        </time>
      </button>
      {isOpen && <MessageBody {...{ ...where, queue, name }} />}
    </>
  );
}

/** The file itself, with its header in small print. */
function MessageBody({ project, mesh, owner, queue, name }: Where & { queue: MeshQueueName; name: string }) {
  // A message does not change while it lies there; where it went on to, it is another row.
  const key = [project, mesh, owner.agent, queue, name].join(" ");
  const loaded = useLoaded(key, () => meshMessage(project, mesh, owner.agent, queue, name));
  if (loaded.state === "loading") return <p className="px-9 pb-3 text-dim">Loading…</p>;
  if (loaded.state === "failed") return <p className="px-9 pb-3 text-dim">It is no longer there.</p>;
  const { header, body } = partsOf(loaded.value.text);
  return (
    <div className="px-3 pt-2 pb-3 md:px-9">
      <p className="mb-2 font-mono text-xs text-dim [overflow-wrap:anywhere]">
        {visible(name)}
        {header && ` · ${visible(header)}`}
      </p>
      <Markdown text={body} />
    </div>
  );
}
