import { Play } from "lucide-react";
import { useAgent } from "../live/use-live.ts";
import type { AgentView } from "../live/view.ts";
import { ACTION } from "../shell/form.tsx";
import { useRest } from "../shell/rest.ts";
import { goOn } from "./steering.ts";

/**
 * The button that lets a failed agent continue, shown with the failure. With several failures it is shown only with the
 * last, which `ts` identifies.
 */
export function GoOn({ agent, ts }: { agent: string; ts?: number }) {
  const view = useAgent(agent);
  const [isResting, pressed] = useRest(agent);
  const now = view.situation?.agent;
  if (view.state === "replay" || now?.status !== "failed" || now.archived_ts !== null) return null;
  if (ts !== undefined && now.halted?.ts !== ts) return null;
  return (
    <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-2 border-t border-line pt-2">
      <p className="min-w-0 flex-1 basis-52 text-[13px]">{firstOf(view)}</p>
      <button
        type="button"
        onClick={() => {
          if (isResting) return;
          pressed();
          goOn(now);
        }}
        aria-disabled={isResting}
        className={`flex shrink-0 items-center gap-1.5 aria-disabled:opacity-60 ${ACTION}`}
      >
        <Play className="size-4" aria-hidden /> {labelOf(now.outcome)}
      </button>
    </div>
  );
}

type AgentOutcome = NonNullable<AgentView["situation"]>["agent"]["outcome"];

function labelOf(outcome: AgentOutcome): string {
  if (outcome?.kind !== "budget_exhausted") return "Continue";
  return outcome.spent_tokens === undefined ? "Give it more money" : "Give it more tokens";
}

/** What has to be done first, as far as the record tells. */
function firstOf({ situation, facts }: AgentView): string {
  if (situation?.agent.outcome?.kind === "budget_exhausted")
    return "With a larger budget it continues where it stopped.";
  const failed = facts.findLast(({ type }) => type === "model.failed" || type === "model.responded");
  if (failed?.type !== "model.failed") return "It continues where it stopped.";
  return failed.data.reason === "auth"
    ? "Fix the key and restart the server; then it continues where it stopped:"
    : "Once the model answers again, it continues where it stopped:";
}
