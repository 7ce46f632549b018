import { FileText, PackageCheck } from "lucide-react";
import type { Situation } from "../../../src/projections/index.ts";
import type { NodeId } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import { Link } from "../shell/link.tsx";
import { clockTime, exactTime, size } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible } from "../text/visible.ts";
import { GoOn } from "./go-on.tsx";
import { nameOf, Speech } from "./speech.tsx";
import type { StreamItem } from "./stream-items.ts";

const MOST_FILES = 12;

interface PublishedFile {
  /** In the workspace. */
  at: string;
  label: string;
  /** Unknown of what the coordinator wrote itself. */
  bytes: number | null;
}

/** How a run ended, and what came of it: whoever waited for a report finds it here. */
export function Result({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "result" }> }) {
  const situation = agents.feed(agent).situation;
  const files = situation && item.run_id ? filesOf(situation, item.run_id) : [];
  return (
    <Speech agent={agent} from="coordinator" ts={item.ts}>
      <div className={`mt-1 rounded-lg border p-3 ${item.ok ? "border-ok/50 bg-raised" : "border-bad/50 bg-bad-tint"}`}>
        <p className={`mb-1 text-xs font-semibold ${item.ok ? "text-ok" : "text-bad"}`}>
          {item.ok ? "Finished" : "Failed"}
        </p>
        <Markdown text={item.text} />
        <Files agent={agent} files={files} />
        <Link
          to={{ screen: "files", agent, path: "" }}
          className="mt-1 inline-flex min-h-11 items-center gap-1.5 text-[13px] text-accent underline md:min-h-7"
        >
          <FileText className="size-3.5" aria-hidden /> {files.length > 0 ? "All files" : "What was written"}
        </Link>
        {!item.ok && <GoOn agent={agent} ts={item.ts} />}
      </div>
    </Speech>
  );
}

export function Published({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "published" }> }) {
  const run = agents.feed(agent).situation?.board.nodes[item.node_id as NodeId]?.spec.run_id;
  const files = item.files.map(({ path, bytes }) => ({
    at: placeOf(run, item.node_id, path),
    label: visible(path),
    bytes,
  }));
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
        <Files agent={agent} files={files} />
      </div>
    </div>
  );
}

function Files({ agent, files }: { agent: string; files: readonly PublishedFile[] }) {
  if (files.length === 0) return null;
  return (
    <ul className="mt-2 flex flex-wrap gap-1.5">
      {files.slice(0, MOST_FILES).map(({ at, label, bytes }) => (
        <li key={at}>
          <Link
            to={{ screen: "files", agent, path: at }}
            className="flex min-h-11 items-center gap-1.5 rounded-md border border-line bg-page px-2 text-xs hover:bg-hover md:min-h-7"
          >
            <FileText className="size-3.5 shrink-0 text-dim" aria-hidden />
            <span className="max-w-60 truncate">{label}</span>
            {bytes !== null && <span className="text-dim">{size(bytes)}</span>}
          </Link>
        </li>
      ))}
      {files.length > MOST_FILES && (
        <li className="px-2 py-1 text-xs text-dim">and {files.length - MOST_FILES} more</li>
      )}
    </ul>
  );
}

/** The files that the coordinator named as the result, then what else was published. */
function filesOf(situation: Situation, run: string): PublishedFile[] {
  const last = situation.agent.run;
  const named = last?.id === run && last.finished?.kind === "finished" ? (last.finished.files ?? []) : [];
  const published = publishedIn(situation, run);
  const results = named.map((path) => {
    const at = `runs/${run}/${path}`;
    return published.find((file) => file.at === at) ?? { at, label: visible(path), bytes: null };
  });
  return [...results, ...published.filter((file) => !results.includes(file))];
}

/** What was published last comes first: it is built on the rest. */
function publishedIn({ board }: Situation, run: string): PublishedFile[] {
  return Object.values(board.nodes)
    .flatMap((node) => (node.status === "completed" && node.spec.run_id === run ? [node] : []))
    .sort((a, b) => b.ended_seq - a.ended_seq)
    .flatMap(({ id, files }) =>
      files.map(({ path, bytes }) => ({ at: placeOf(run, id, path), label: `${id}/${visible(path)}`, bytes })),
    );
}

function placeOf(run: string | undefined, node: string, path: string): string {
  return `runs/${run}/nodes/${node}/published/${path}`;
}
