import { Lightbulb, SendHorizontal } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { isAtWork, type Situation } from "../../../src/projections/index.ts";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import type { AgentView } from "../live/view.ts";
import { foot } from "../shell/foot.ts";
import { keep, remembered } from "../shell/memo.ts";
import { goTo } from "../shell/route.ts";
import { hint, say } from "./live-rows.tsx";

/** The input field for this entity. The draft is kept; `@everyone` at the beginning sends to the whole team. */
export function Composer({ view, situation, worker }: { view: AgentView; situation: Situation; worker: string }) {
  const draft = `draft.${view.id}.${worker}`;
  const [text, setText] = useState(() => remembered(draft) ?? "");
  const field = useRef<HTMLTextAreaElement>(null);
  const name = worker === COORDINATOR ? "the coordinator" : (situation.roster[worker]?.spawned.name ?? worker);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it grows with its words
  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, 200)}px`;
  }, [text]);

  const change = (next: string) => {
    setText(next);
    keep(draft, next === "" ? null : next);
  };
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

  if (view.standing === "replay") return <BackToNow />;
  return (
    <form
      ref={foot}
      className="shrink-0 px-3 pt-1 pb-3 md:px-5"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="flex items-end gap-1 rounded-lg border border-line bg-page p-1 focus-within:border-accent">
        <textarea
          ref={field}
          data-composer
          rows={1}
          value={text}
          onChange={(event) => change(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            if (event.altKey && mayHint) submitHint();
            else submit();
          }}
          aria-label={`Message to ${name}`}
          placeholder={placeholderFor(situation, worker, name)}
          className="min-h-11 min-w-0 flex-1 resize-none bg-transparent px-2 py-2.5 outline-none md:min-h-9 md:py-1.5"
        />
        {mayHint && <HintButton isEmpty={text.trim() === ""} onClick={submitHint} />}
        <button
          type="submit"
          disabled={text.trim() === ""}
          aria-label="Send"
          className="grid size-11 shrink-0 place-items-center rounded-md bg-accent text-on-accent disabled:bg-hover disabled:text-dim md:size-9"
        >
          <SendHorizontal className="size-4" aria-hidden />
        </button>
      </div>
    </form>
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
  if (agent.status === "stopped" || agent.status === "failed") return "Write to go on…";
  return "Message, or @everyone…";
}
