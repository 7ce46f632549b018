import { FileText, GitPullRequestArrow, PackageCheck } from "lucide-react";
import type { Situation } from "../../../src/projections/index.ts";
import type { NodeId } from "../../../src/protocol/index.ts";
import { knownOf } from "../live/replay.ts";
import { type RunResult, useResultsOf } from "../live/run-results.ts";
import { Link } from "../shell/link.tsx";
import { clockTime, exactTime } from "../text/figures.ts";
import { Markdown } from "../text/markdown.tsx";
import { visible } from "../text/visible.ts";
import { FileLinks, type LinkedFile, linkedFile, publishedPath } from "./file-links.tsx";
import { GoOn } from "./go-on.tsx";
import { MessageBlock, nameOf } from "./message-block.tsx";
import type { StreamItem } from "./stream-item.ts";

/** How a run ended, and its results. */
export function Result({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "result" }> }) {
  const run = item.run_id ?? runAt(knownOf(agent), item.seq);
  return (
    <MessageBlock agent={agent} from="coordinator" ts={item.ts}>
      <div className={`mt-1 rounded-lg border p-3 ${item.ok ? "border-ok/50 bg-raised" : "border-bad/50 bg-bad-tint"}`}>
        <p className={`mb-1 text-xs font-semibold ${item.ok ? "text-ok" : "text-bad"}`}>
          {item.ok ? "Finished" : "Failed"}
        </p>
        <Markdown text={item.text} />
        {run !== null && <RunFiles agent={agent} run={run} named={item.files} seq={item.seq} />}
        <p className="mt-1 flex flex-wrap gap-x-4">
          <ReviewLink agent={agent} />
          <Link to={{ screen: "files", agent, path: "" }} className={MORE}>
            <FileText className="size-3.5" aria-hidden /> All files
          </Link>
        </p>
        {!item.ok && <GoOn agent={agent} ts={item.ts} />}
      </div>
    </MessageBlock>
  );
}

const MORE = "inline-flex min-h-11 items-center gap-1.5 text-[13px] text-accent underline md:min-h-7";

/** Of a team that changes a repository, the branch is the result. */
function ReviewLink({ agent }: { agent: string }) {
  const repository = knownOf(agent)?.repository;
  if (!repository || repository.tip === repository.base) return null;
  return (
    <Link to={{ screen: "changes", agent, node: null }} className={MORE}>
      <GitPullRequestArrow className="size-3.5" aria-hidden /> Review the changes
    </Link>
  );
}

function RunFiles({ agent, run, named, seq }: { agent: string; run: string; named: readonly string[]; seq: number }) {
  const results = useResultsOf(agent, run, named, seq);
  const files = filesOf(knownOf(agent), run, results, named.length > 0);
  return <FileLinks agent={agent} files={files} />;
}

export function Published({ agent, item }: { agent: string; item: Extract<StreamItem, { kind: "published" }> }) {
  const run = knownOf(agent)?.board.nodes[item.node_id as NodeId]?.spec.run_id;
  const files = item.files.map(({ path, bytes }) => ({
    at: publishedPath(run, item.node_id, path),
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
        <FileLinks agent={agent} files={files} />
      </div>
    </div>
  );
}

/** Its beginning may be older than the facts at hand. */
function runAt(situation: Situation | null, seq: number): string | null {
  const run = situation?.agent.run;
  return run && run.started_seq < seq ? run.id : null;
}

/** Its results, then what else was published. */
function filesOf(situation: Situation | null, run: string, results: readonly RunResult[], isNamed: boolean) {
  const published = situation ? publishedIn(situation, run) : [];
  const rankOf = ({ at }: LinkedFile) => published.findIndex((file) => file.at === at);
  const first = results.map(linkedFile);
  const rest = published.filter(({ at }) => !first.some((file) => file.at === at));
  // The one who named them has said what comes first.
  return [...(isNamed ? first : first.sort((a, b) => rankOf(a) - rankOf(b))), ...rest];
}

/** What was published last comes first: it is built on the rest. */
function publishedIn({ board }: Situation, run: string): LinkedFile[] {
  return Object.values(board.nodes)
    .flatMap((node) => (node.status === "completed" && node.spec.run_id === run ? [node] : []))
    .sort((a, b) => b.ended_seq - a.ended_seq)
    .flatMap(({ id, files }) =>
      files.map(({ path, bytes }) => ({ at: publishedPath(run, id, path), label: `${id}/${visible(path)}`, bytes })),
    );
}
