import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { nameOf } from "../entity/message-block.tsx";
import { agents } from "../live/agents.ts";
import { commentOn } from "../live/repository-api.ts";
import { useLoaded } from "../live/use-live.ts";
import { Problem } from "../shell/form.tsx";
import { useDraft } from "../shell/message-field.tsx";
import { visible } from "../text/visible.ts";
import { authorOf, lineIn, reviewable } from "./author.ts";
import type { LineAddress } from "./diff-rows.ts";
import type { ReviewTarget } from "./review-target.ts";
import { useSubmission } from "./use-submission.ts";

interface ComposerProps {
  target: ReviewTarget;
  at: LineAddress;
  /** The line as it is. */
  quote: string;
  onClose: () => void;
}

/** A comment on a line, as it is written. The draft is kept until it is sent. */
export function CommentComposer({ target, at, quote, onClose }: ComposerProps) {
  const { agent } = target;
  const draft = `draft.${agent}.review ${target.node ?? ""} ${at.side} ${at.line} ${at.path}`;
  const [text, change] = useDraft(draft);
  const { problem, isBusy, submit } = useSubmission();
  const { node, choose } = useRecipient(target, at, quote);
  const field = useShownField();
  const canSend = text.trim() !== "" && node !== null && !isBusy;

  const send = () => {
    if (!canSend) return;
    const { path, side } = at;
    const comment = async () => {
      const line = target.node === null ? await lineIn(agent, target.repository, node, at, quote) : at.line;
      return commentOn(agent, node, { path, line, side, text: text.trim() });
    };
    submit(comment, () => {
      change("");
      onClose();
    });
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onClose();
  };
  const where = `line ${at.line} of ${visible(at.path)}${at.side === "old" ? ", as it was" : ""}`;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      aria-label={`Comment on ${where}`}
      className="border-y border-line bg-panel px-3 py-2 md:px-4"
    >
      <div className="max-w-3xl space-y-2 rounded-lg border border-line bg-page p-3">
        <textarea
          ref={field}
          rows={3}
          value={text}
          onChange={(event) => change(event.target.value)}
          onKeyDown={press}
          aria-label={`Comment on ${where}`}
          placeholder="What should be different?"
          className="w-full resize-y rounded-md border border-line bg-page px-2.5 py-2 text-[13px]"
        />
        <Problem text={problem} />
        <div className="flex flex-wrap items-center gap-2 text-[13px]">
          <Recipient target={target} node={node} choose={choose} />
          <span className="flex-1" />
          <Buttons canSend={canSend} onClose={onClose} />
        </div>
      </div>
    </form>
  );
}

/** The field is where one types next, and it is in sight with its buttons: below the last line there is no room for it. */
function useShownField() {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.form?.scrollIntoView({ block: "nearest" });
  }, []);
  return field;
}

function Buttons({ canSend, onClose }: { canSend: boolean; onClose: () => void }) {
  return (
    <>
      <button
        type="button"
        onClick={onClose}
        className="min-h-11 rounded-md px-3 font-semibold hover:bg-hover md:min-h-8"
      >
        Close
      </button>
      <button
        type="submit"
        disabled={!canSend}
        title="Ctrl Enter"
        className="min-h-11 rounded-md bg-accent px-3 font-semibold text-on-accent hover:opacity-90 disabled:opacity-60 md:min-h-8"
      >
        Send
      </button>
    </>
  );
}

/** The node under review; for the whole branch, the node that wrote the line, unless another is chosen. */
function useRecipient(target: ReviewTarget, at: LineAddress, quote: string) {
  const { agent, node, repository } = target;
  const [chosen, choose] = useState<string | null>(null);
  const find = async () => node ?? authorOf(agent, repository, at, quote);
  const found = useLoaded(`${agent} ${node} ${at.path} ${at.side} ${at.line}`, find);
  return { node: chosen ?? (found.state === "ready" ? found.value : null), choose };
}

interface RecipientProps {
  target: ReviewTarget;
  node: string | null;
  choose: (node: string) => void;
}

function Recipient({ target, node, choose }: RecipientProps) {
  const { agent, repository } = target;
  if (target.node !== null) return <span className="text-dim">To {whoHas(agent, target.node)}</span>;
  return (
    <label className="flex min-w-0 items-center gap-1.5 text-dim">
      To
      <select
        value={node ?? ""}
        onChange={(event) => choose(event.target.value)}
        className="min-h-11 min-w-0 rounded-md border border-line bg-page px-2 text-ink md:min-h-8"
      >
        {node === null && <option value="">…</option>}
        {reviewable(repository).map((id) => (
          <option key={id} value={id}>
            {id} · {whoHas(agent, id)}
          </option>
        ))}
      </select>
    </label>
  );
}

function whoHas(agent: string, id: string): string {
  const nodes = agents.feed(agent).situation?.board.nodes;
  const node = Object.values(nodes ?? {}).find((each) => each.id === id);
  return node && "worker_id" in node ? nameOf(agent, node.worker_id) : id;
}
