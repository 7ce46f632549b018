import { AlarmClock, Plus } from "lucide-react";
import { useState } from "react";
import type { Situation, TriggerState } from "../../../src/projections/index.ts";
import { actionWords, conditionWords } from "../../../src/wording/phrases.ts";
import { ScreenHeader } from "../entity/entity-header.tsx";
import { Loading, Missing, Nowhere } from "../entity/entity-view.tsx";
import { nameOf } from "../entity/message-block.tsx";
import { give } from "../live/api.ts";
import { useAgent } from "../live/use-live.ts";
import { complain } from "../shell/overlay.ts";
import { useRest } from "../shell/rest.ts";
import { count } from "../text/figures.ts";
import { NewTriggerForm } from "./new-trigger.tsx";
import { triggerStateWords } from "./trigger-words.ts";

/** The agent's triggers, active and ended: from the fold, so that replay shows them as they were. */
export default function TriggersView({ agent }: { agent: string }) {
  const view = useAgent(agent);
  const [isAdding, setAdding] = useState(false);
  const { situation } = view;
  if (view.state === "gone") return <Nowhere what={`There is no agent ${agent}.`} />;
  if (!situation) return <Loading />;
  const isPast = view.state === "replay";
  const open = Object.values(situation.triggers.open);
  const settled = situation.triggers.settled.toReversed();
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ScreenHeader
        title="Triggers"
        detail={situation.agent.created.name + (open.length > 0 ? ` · ${count(open.length, "trigger")} to come` : "")}
      >
        {!isPast && (
          <button
            type="button"
            onClick={() => setAdding(true)}
            className="flex min-h-11 shrink-0 items-center gap-1.5 rounded-md border border-line px-3 text-[13px] font-semibold hover:bg-hover md:min-h-8"
          >
            <Plus className="size-4" aria-hidden /> Add
          </button>
        )}
      </ScreenHeader>
      <div className="min-h-0 flex-1 overflow-y-auto p-3 md:p-5">
        <div className="mx-auto max-w-4xl">
          <Resting situation={situation} />
          {open.length === 0 && settled.length === 0 && (
            <Missing what="Nothing is planned. Add a trigger, or ask the coordinator: “wake up on Monday at nine and …”" />
          )}
          <ul className="space-y-2" aria-label="To come">
            {open.map((trigger) => (
              <TriggerCard key={trigger.id} agent={agent} trigger={trigger} isPast={isPast} />
            ))}
          </ul>
          {settled.length > 0 && (
            <>
              <h2 className="mt-6 mb-2 text-xs font-semibold text-dim">Over</h2>
              <ul className="space-y-2" aria-label="Over">
                {settled.map((trigger) => (
                  <TriggerCard key={`${trigger.id} ${trigger.last_seq}`} agent={agent} trigger={trigger} isPast />
                ))}
              </ul>
            </>
          )}
        </div>
      </div>
      {isAdding && <NewTriggerForm agent={agent} onClose={() => setAdding(false)} />}
    </div>
  );
}

/** Nothing fires while its agent rests. */
function Resting({ situation: { agent, triggers } }: { situation: Situation }) {
  const isResting = agent.status === "paused" || agent.status === "stopped";
  if (!isResting || Object.keys(triggers.open).length === 0) return null;
  return (
    <p className="mb-3 rounded-md bg-wait-tint px-3 py-2 text-[13px] text-wait">
      {agent.created.name} is {agent.status}: nothing fires until it is resumed.
    </p>
  );
}

function TriggerCard({ agent, trigger, isPast }: { agent: string; trigger: TriggerState; isPast: boolean }) {
  const { id, status, when, action, created_by } = trigger;
  const isOver = status !== "active" && status !== "paused";
  const facts = [...triggerStateWords(trigger), `set by ${nameOf(agent, created_by)}`];
  return (
    <li className={`flex gap-3 rounded-lg border border-line p-3 ${isOver ? "text-dim" : "bg-raised"}`}>
      <AlarmClock className={`mt-0.5 size-4 shrink-0 ${status === "active" ? "text-busy" : "text-dim"}`} aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="[overflow-wrap:anywhere]">{actionWords(action)}</p>
        <p className="mt-0.5 text-[13px] text-dim [overflow-wrap:anywhere]">{conditionWords(when)}</p>
        <p className="mt-1 text-xs text-dim">
          <span className="font-mono">{id}</span> · {facts.join(" · ")}
        </p>
      </div>
      {!isPast && !isOver && <Cancel agent={agent} id={id} />}
    </li>
  );
}

const BUTTON =
  "min-h-11 rounded-md px-2 text-[13px] font-semibold hover:bg-hover disabled:opacity-60 aria-disabled:opacity-60 md:min-h-8";

/**
 * In two steps, for it cannot be undone and the next one moves up under the pointer: whatever is hit there only asks.
 * The same button asks and takes back, so that the focus stays and a second click or key never says yes.
 */
function Cancel({ agent, id }: { agent: string; id: string }) {
  const [isAsked, setAsked] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [isResting] = useRest(String(isAsked));
  const cancel = () => {
    setBusy(true);
    give({ do: "cancel_trigger", id: agent, trigger_id: id })
      .catch(complain)
      .finally(() => setBusy(false));
  };
  return (
    <div className="flex shrink-0 flex-col-reverse self-start md:flex-row">
      {isAsked && (
        <button
          type="button"
          disabled={isBusy}
          onClick={cancel}
          aria-label={`Cancel it: ${id}`}
          className={`${BUTTON} text-bad`}
        >
          Cancel it
        </button>
      )}
      <button
        type="button"
        disabled={isBusy}
        aria-disabled={isResting}
        onClick={() => !isResting && setAsked(!isAsked)}
        aria-label={isAsked ? `Keep it: ${id}` : `Cancel ${id}`}
        className={`${BUTTON} text-accent`}
      >
        {isAsked ? "Keep it" : "Cancel"}
      </button>
    </div>
  );
}
