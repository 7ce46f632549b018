import { ArrowLeft, Download } from "lucide-react";
import { useEffect, useState } from "react";
import type { Situation } from "../../../src/projections/index.ts";
import type { NodeId } from "../../../src/protocol/index.ts";
import { fileAddress, type Shelf, textOfFile } from "../live/api.ts";
import { own } from "../live/own.ts";
import { useLoaded } from "../live/use-live.ts";
import type { AgentView } from "../live/view.ts";
import { Link } from "../shell/link.tsx";
import { goTo } from "../shell/route.ts";
import { size } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible } from "../text/visible.ts";
import { Code } from "./code.tsx";

const MOST = 256 * 1024;
const MOST_PICTURE = 32 * 1024 * 1024;
/** Only what cannot carry script: an SVG is shown as the text it is. */
const PICTURES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

interface PreviewProps {
  view: AgentView;
  situation: Situation;
  shelf: Shelf;
  path: string;
  tick: string;
}

export function Preview({ view, situation, shelf, path, tick }: PreviewProps) {
  const kind = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  const [isRaw, setRaw] = useState(false);
  const isMarkdown = kind === "md" || kind === "markdown";
  const picture = own(PICTURES, kind);
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
        {isMarkdown && (
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
          href={`${fileAddress(view.id, shelf, path)}?download=true`}
          download
          aria-label="Download"
          className="grid size-11 shrink-0 place-items-center rounded-md text-dim hover:bg-hover md:size-8"
        >
          <Download className="size-4" aria-hidden />
        </a>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="min-h-0 flex-1 overflow-auto p-4 md:p-6" tabIndex={0}>
        {picture ? (
          <Picture address={fileAddress(view.id, shelf, path)} type={picture} name={path} tick={tick} />
        ) : (
          <Text view={view} shelf={shelf} path={path} kind={kind} tick={tick} isMarkdown={isMarkdown && !isRaw} />
        )}
      </div>
    </div>
  );
}

function Text({
  view,
  shelf,
  path,
  kind,
  tick,
  isMarkdown,
}: {
  view: AgentView;
  shelf: Shelf;
  path: string;
  kind: string;
  tick: string;
  isMarkdown: boolean;
}) {
  const file = useLoaded(`${view.id} ${shelf} ${path} ${tick}`, () => textOfFile(view.id, shelf, path, MOST));
  if (file.state === "loading") return <p className="text-dim">Loading…</p>;
  if (file.state === "failed")
    return (
      <p role="alert" className="text-bad">
        {file.problem}
      </p>
    );
  const { text, bytes, isCut } = file.value;
  if (text === null) return <p className="text-dim">This is not text ({size(bytes)}). Download it to look at it.</p>;
  if (text === "") return <p className="text-dim">The file is empty.</p>;
  return (
    <>
      {isMarkdown ? (
        <div className="max-w-3xl">
          <Markdown text={text} />
        </div>
      ) : (
        <Code text={text} kind={kind} />
      )}
      {isCut && <p className="mt-4 text-dim">The file has {size(bytes)}; only the beginning is shown.</p>}
    </>
  );
}

function Picture({ address, type, name, tick }: { address: string; type: string; name: string; tick: string }) {
  const picture = useLoaded(`${address} ${tick}`, async () => {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`The picture could not be read (${response.status}).`);
    const bytes = Number(response.headers.get("content-length") ?? 0);
    if (bytes > MOST_PICTURE) {
      await response.body?.cancel();
      throw new Error(`The picture has ${size(bytes)}, too much to show here. Download it to look at it.`);
    }
    return URL.createObjectURL(new Blob([await response.arrayBuffer()], { type }));
  });
  const [isBroken, setBroken] = useState(false);
  const url = picture.state === "ready" ? picture.value : null;
  useEffect(() => () => void (url && URL.revokeObjectURL(url)), [url]);
  if (picture.state === "failed")
    return (
      <p role="alert" className="text-bad">
        {picture.problem}
      </p>
    );
  if (isBroken)
    return <p className="text-dim">This is no picture, whatever its name says. Download it to look at it.</p>;
  return url ? (
    <img
      src={url}
      alt={visible(name)}
      onError={() => setBroken(true)}
      className="max-w-full rounded border border-line"
    />
  ) : (
    <p className="text-dim">Loading…</p>
  );
}

/** Who wrote it, and at which fact, as far as the record tells. */
function Origin({ view, situation, shelf, path }: Omit<PreviewProps, "tick">) {
  const node = situation.board.nodes[(/nodes\/(node-\d+)\//.exec(path)?.[1] ?? "") as NodeId];
  if (shelf === "workspace" && node && "worker_id" in node) {
    const seq = "ended_seq" in node ? node.ended_seq : node.last_seq;
    return <Written who={situation.roster[node.worker_id]?.spawned.name ?? node.worker_id} seq={seq} />;
  }
  const written = view.facts.findLast(
    (fact) => fact.type === "memory.written" && [path, `memory/${path}`].includes(fact.data.path),
  );
  if (written?.type !== "memory.written") return null;
  return <Written who={situation.roster[written.data.by]?.spawned.name ?? written.data.by} seq={written.seq} />;
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
