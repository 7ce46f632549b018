import { ArrowLeft, Download } from "lucide-react";
import { useState } from "react";
import type { Situation } from "../../../src/projections/index.ts";
import type { Fact, FactOf, NodeId } from "../../../src/protocol/index.ts";
import { nameOf } from "../entity/message-block.tsx";
import { fileAddress, type Shelf } from "../live/api.ts";
import { wholeLog } from "../live/replay.ts";
import { useLoaded } from "../live/use-live.ts";
import type { AgentView } from "../live/view.ts";
import { Link } from "../shell/link.tsx";
import { goTo } from "../shell/route.ts";
import { visible } from "../text/visible.ts";
import { FileViewer, isMarkdown } from "./file-content.tsx";

interface PreviewProps {
  view: AgentView;
  situation: Situation;
  shelf: Shelf;
  path: string;
  tick: string;
}

export function Preview({ view, situation, shelf, path, tick }: PreviewProps) {
  const [isRaw, setRaw] = useState(false);
  const address = fileAddress(view.id, shelf, path);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex min-h-11 shrink-0 items-center gap-2 border-b border-line px-2 md:px-4">
        <Link
          to={{ screen: shelf === "workspace" ? "files" : "memory", agent: view.id, path: "" }}
          label="Back to the list"
          className="grid size-11 shrink-0 place-items-center rounded-md hover:bg-hover md:hidden"
        >
          <ArrowLeft className="size-4" aria-hidden />
        </Link>
        <div className="min-w-0 flex-1">
          <h2 className="truncate font-mono text-xs" title={visible(path)}>
            {visible(path)}
          </h2>
          <Origin view={view} situation={situation} shelf={shelf} path={path} />
        </div>
        {isMarkdown(path) && (
          <button
            type="button"
            onClick={() => setRaw(!isRaw)}
            aria-pressed={isRaw}
            className="min-h-11 rounded-md px-2 text-xs font-semibold text-accent hover:bg-hover md:min-h-8"
          >
            {isRaw ? "Read" : "Source"}
          </button>
        )}
        <a
          href={`${address}?download=true`}
          download
          aria-label="Download"
          className="grid size-11 shrink-0 place-items-center rounded-md text-dim hover:bg-hover md:size-8"
        >
          <Download className="size-4" aria-hidden />
        </a>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="min-h-0 flex-1 overflow-auto p-4 md:p-6" tabIndex={0}>
        <FileViewer address={address} path={path} tick={tick} isRaw={isRaw} />
      </div>
    </div>
  );
}

/** Who wrote it, and at which fact, as far as the record tells. */
function Origin({ view, situation, shelf, path }: Omit<PreviewProps, "tick">) {
  const node = situation.board.nodes[(/nodes\/(node-\d+)\//.exec(path)?.[1] ?? "") as NodeId];
  if (shelf === "workspace" && node && "worker_id" in node) {
    const seq = "ended_seq" in node ? node.ended_seq : node.last_seq;
    return <Written who={nameOf(situation.agent.id, node.worker_id)} seq={seq} />;
  }
  return shelf === "memory" ? <Remembered view={view} path={path} /> : null;
}

/** What was written long ago is told by a fact that nobody has looked at yet: then the log before is read for it. */
function Remembered({ view, path }: Pick<PreviewProps, "view" | "path">) {
  const first = view.facts[0]?.seq ?? 1;
  const recent = view.facts.findLast(isWriting(path));
  const search = async () => {
    if (recent || first === 1) return undefined;
    await wholeLog(view.id).upTo(first - 1);
    return wholeLog(view.id)
      .facts.slice(0, first - 1)
      .findLast(isWriting(path));
  };
  const older = useLoaded(`${view.id} ${path}`, search, recent ? "" : String(first));
  const written = recent ?? (older.state === "ready" ? older.value : undefined);
  return written ? <Written who={nameOf(view.id, written.data.by)} seq={written.seq} /> : null;
}

function isWriting(path: string) {
  return (fact: Fact): fact is FactOf<"memory.written"> =>
    fact.type === "memory.written" && [path, `memory/${path}`].includes(fact.data.path);
}

function Written({ who, seq }: { who: string; seq: number }) {
  return (
    <p className="truncate text-xs text-dim">
      by {who} at{" "}
      <button
        type="button"
        onClick={() => goTo(seq)}
        className="text-accent underline"
        title="See everything as it was then"
      >
        fact {seq}
      </button>
    </p>
  );
}
