import { Lightbulb } from "lucide-react";
import { useLayoutEffect, useRef } from "react";
import { isAtWork, type Situation } from "../../../src/projections/index.ts";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import type { AgentView } from "../live/view.ts";
import { foot } from "../shell/foot.ts";
import { MESSAGE_FRAME, MessageField, MessageForm, SendButton, useDraft } from "../shell/message-field.tsx";
import { goTo } from "../shell/route.ts";
import { hint, say } from "./live-rows.tsx";

/** The input field for this entity. The draft is kept; `@everyone` at the beginning sends to the whole team. */
export function Composer({ view, situation, worker }: { view: AgentView; situation: Situation; worker: string }) {
  const [text, change] = useDraft(`draft.${view.id}.${worker}`);
  const field = useRef<HTMLTextAreaElement>(null);
  const name = worker === COORDINATOR ? "the coordinator" : (situation.roster[worker]?.spawned.name ?? worker);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it grows with its words
  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, 200)}px`;
  }, [text]);

  const submit = () => {
    const words = text.trim();
    if (words === "") return;
    const toAll = /^@(?:everyone|all)\s+/.exec(words);
    say(view.id, toAll ? "*" : worker, toAll ? words.slice(toAll[0].length) : words);
    change("");
  };

  const submitHint = () => {
    const words = text.trim();
    if (words === "") return;
    hint(view.id, words);
    change("");
  };
  const mayHint = worker === COORDINATOR && isAtWork(situation.agent.status);

  if (view.state === "replay") return <BackToNow />;
  return (
    <MessageForm onSubmit={submit}>
      <div className={MESSAGE_FRAME}>
        <MessageField
          field={field}
          rows={1}
          text={text}
          to={name}
          placeholder={placeholderFor(situation, worker, name)}
          onChange={change}
          onEnter={(withAlt) => (withAlt && mayHint ? submitHint() : submit())}
        />
        {mayHint && <HintButton isEmpty={text.trim() === ""} onClick={submitHint} />}
        <SendButton disabled={text.trim() === ""} />
      </div>
    </MessageForm>
  );
}

function BackToNow() {
  return (
    <div
      ref={foot}
      className="flex shrink-0 items-center justify-between gap-3 border-t border-line bg-tint px-3 py-2 text-[13px] md:px-5"
    >
      <span>You are looking at the past.</span>
      <button
        type="button"
        onClick={() => goTo(null)}
        className="min-h-11 rounded-md px-3 font-semibold text-accent hover:bg-hover md:min-h-8"
      >
        Back to now
      </button>
    </div>
  );
}

function HintButton({ isEmpty, onClick }: { isEmpty: boolean; onClick: () => void }) {
  return (
    <button
      type="button"
      onClick={onClick}
      disabled={isEmpty}
      aria-label="Send as a hint"
      title="Send as a hint, which need not be answered (Alt+Enter)"
      className="grid size-11 shrink-0 place-items-center rounded-md text-dim hover:bg-hover hover:text-ink disabled:opacity-60 disabled:hover:bg-transparent md:size-9"
    >
      <Lightbulb className="size-4" aria-hidden />
    </button>
  );
}

/** Who reads it, and what comes of writing. */
function placeholderFor({ agent, roster }: Situation, worker: string, name: string): string {
  const isBroke = agent.status === "failed" && agent.outcome?.kind === "budget_exhausted";
  if (agent.status === "paused" || isBroke) return "It reads this when it is resumed…";
  if (roster[worker]?.status === "retired") return "Retired: the coordinator reads this…";
  if (worker !== COORDINATOR) return `Message ${name}…`;
  if (agent.status === "completed") return "Give it another goal…";
  if (agent.status === "stopped" || agent.status === "failed") return "Write to continue…";
  return "Message, or @everyone…";
}
