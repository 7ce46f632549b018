import { Ban } from "lucide-react";
import { useState } from "react";
import { isAtWork, type NodeState } from "../../../src/projections/index.ts";
import { give } from "../live/api.ts";
import type { AgentView } from "../live/view.ts";
import { complain, toast } from "../shell/overlay.ts";

/** Not styled as the main button. */
const BUTTON =
  "min-h-11 rounded-md border border-line bg-page px-3 text-[13px] font-semibold hover:bg-hover md:min-h-8";

/** Ends a node that is no longer needed. Asks for confirmation, since nothing continues it automatically. */
export function CancelNode({ view, node }: { view: AgentView; node: NodeState }) {
  const [isAsked, ask] = useState(false);
  const [reason, setReason] = useState("");
  const agent = view.situation?.agent;
  const isOver = node.status === "completed" || node.status === "cancelled";
  if (view.state === "replay" || !agent || agent.run?.finished || agent.archived_ts !== null || isOver) return null;
  if (!isAsked)
    return (
      <button type="button" onClick={() => ask(true)} className={`flex items-center gap-1.5 ${BUTTON}`}>
        <Ban className="size-4" aria-hidden /> Cancel this node
      </button>
    );
  const cancel = () => {
    const why = reason.trim() === "" ? {} : { reason: reason.trim() };
    give({ do: "cancel", id: view.id, node_id: node.id, ...why }).then(
      ({ detail }) => toast("plain", detail),
      complain,
    );
    ask(false);
  };
  const stops = isAtWork(agent.status) && "worker_id" in node ? " Its worker is stopped." : "";
  return (
    <form
      aria-label={`Cancel ${node.id}`}
      className="space-y-2 rounded-md border border-line p-3"
      onSubmit={(event) => {
        event.preventDefault();
        cancel();
      }}
    >
      <p className="text-[13px]">
        Cancel {node.id} and its sub-nodes?{stops} Its files are kept.
      </p>
      <input
        aria-label="Reason"
        placeholder="Why (optional)"
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        className="min-h-11 w-full rounded-md border border-line bg-page px-2 text-[13px] md:min-h-8"
      />
      <div className="flex gap-2">
        <button type="submit" className={`${BUTTON} text-bad`}>
          Cancel it
        </button>
        <button type="button" onClick={() => ask(false)} className={BUTTON}>
          Keep it
        </button>
      </div>
    </form>
  );
}
