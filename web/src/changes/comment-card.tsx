import { COORDINATOR, HUMAN } from "../../../src/protocol/index.ts";
import { nameOf } from "../entity/message-block.tsx";
import { agents } from "../live/agents.ts";
import { Link } from "../shell/link.tsx";
import { clockTime, exactTime, firstLine } from "../text/figures.ts";
import { visible, visibleLines } from "../text/visible.ts";
import { type AnchoredComment, quotedLine } from "./anchors.ts";
import type { ReviewTarget } from "./review-target.ts";

/** What the person said about a line, and what became of it. */
export function Comments({ target, comments }: { target: ReviewTarget; comments: readonly AnchoredComment[] }) {
  return (
    <ul className="space-y-2 border-y border-line bg-panel px-3 py-2 md:px-4" aria-label="Comments">
      {comments.map((each) => (
        <li key={each.comment.seq} className="max-w-3xl rounded-lg border border-line bg-page px-3 py-2">
          <CommentText target={target} anchored={each} />
        </li>
      ))}
    </ul>
  );
}

function CommentText({ target, anchored: { comment, line } }: { target: ReviewTarget; anchored: AnchoredComment }) {
  const { text, ts, node_id, worker_id } = comment;
  const quote = quotedLine(comment).trim();
  const who = nameOf(target.agent, worker_id);
  return (
    <>
      <p className="flex flex-wrap items-baseline gap-x-2 text-xs text-dim">
        <span className="font-semibold text-ink">You</span> to {who} about <span className="font-mono">{node_id}</span>
        <time className="ml-auto" title={exactTime(ts)}>
          {clockTime(ts)}
        </time>
      </p>
      {line === null && (
        <p className="mt-1 text-xs text-dim">
          On line {comment.line}, which is not in this diff{quote === "" ? "." : ": "}
          {quote !== "" && <code className="[overflow-wrap:anywhere]">{visible(quote)}</code>}
        </p>
      )}
      <p className="mt-1 text-[13px] whitespace-pre-wrap [overflow-wrap:anywhere]">{visibleLines(text)}</p>
      <Answer target={target} comment={comment} who={who} />
    </>
  );
}

/** Sent, answered in words, or answered by a commit. */
function Answer({ target, comment, who }: { target: ReviewTarget; comment: AnchoredComment["comment"]; who: string }) {
  const { agent, repository } = target;
  const { answered_by, node_id, worker_id, seq } = comment;
  const words = wordsAfter(agent, worker_id, seq);
  const node = repository.nodes[node_id];
  const answer = answered_by === null ? undefined : nodeOfCommit(target, answered_by);
  return (
    <p className="mt-1.5 flex flex-wrap items-center gap-x-3 text-xs text-dim">
      {answered_by === null ? (
        <span>{node?.state === "working" ? `${who} is working on it` : `Sent to ${who}`}</span>
      ) : (
        <span className={answer?.isTakenOut ? "" : "text-ok"}>
          {answer ? `${answer.author} changed it` : "Changed"} in{" "}
          <span className="font-mono">{answered_by.slice(0, 8)}</span>
          {answer?.isTakenOut && ", which was taken out"}
        </span>
      )}
      {words !== null && (
        <Link
          to={{ screen: "entity", agent, worker: worker_id }}
          className="inline-flex min-h-11 items-center text-accent underline md:min-h-6"
        >
          {who} wrote: {words}
        </Link>
      )}
    </p>
  );
}

/** A later run has other workers: the one who answers need not be the one who was asked. */
function nodeOfCommit({ agent, repository }: ReviewTarget, commit: string) {
  const [id, work] = Object.entries(repository.nodes).find(([, each]) => each.commit === commit) ?? [];
  const board = agents.feed(agent).situation?.board.nodes;
  const node = Object.values(board ?? {}).find((each) => each.id === id);
  if (!node || !("worker_id" in node)) return undefined;
  return { author: nameOf(agent, node.worker_id), isTakenOut: work?.state === "reverted" };
}

/** The first message to the person after a given time. */
function wordsAfter(agent: string, worker: string, seq: number): string | null {
  if (worker === COORDINATOR) return null;
  const thread = agents.feed(agent).situation?.thread ?? [];
  const said = thread.find((each) => each.seq > seq && each.from === worker && each.to === HUMAN);
  return said ? firstLine(said.text).slice(0, 120) : null;
}
