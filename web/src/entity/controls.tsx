import { Pause, Play, Square, Trash2 } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import type { AgentState } from "../../../src/projections/index.ts";
import { agents } from "../live/agents.ts";
import { removeAgent, restoreAgent, resume, steer } from "../live/api.ts";
import { Dialog } from "../shell/dialog.tsx";
import { complain, toast } from "../shell/overlay.ts";
import { go } from "../shell/route.ts";

/** Stop, pause, go on, put away: what makes sense now. */
export function Controls({ agent }: { agent: AgentState }) {
  const { id, status, outcome, created } = agent;
  const [isAsking, setAsking] = useState(false);
  const isAtWork = status === "working" || status === "waiting_for_human";
  const mayGoOn = status === "paused" || status === "stopped" || status === "failed";
  const act = (how: "pause" | "stop") => () => void steer(id, how).then(() => agents.refresh(), complain);
  const goOn = () => {
    if (outcome?.kind === "budget_exhausted" && outcome.spent_tokens === undefined) setAsking(true);
    else resume(id).then(() => agents.refresh(), complain);
  };
  return (
    <div className="flex shrink-0 items-center">
      {isAtWork && <Control label="Pause" icon={<Pause className="size-4" aria-hidden />} run={act("pause")} />}
      {isAtWork && <Control label="Stop" icon={<Square className="size-4" aria-hidden />} run={act("stop")} />}
      {mayGoOn && <Control label="Resume" icon={<Play className="size-4" aria-hidden />} run={goOn} />}
      <Control
        label="Delete"
        icon={<Trash2 className="size-4" aria-hidden />}
        run={() => void remove(id, created.name)}
      />
      {isAsking && <MoreMoney agent={agent} onClose={() => setAsking(false)} />}
    </div>
  );
}

function Control({ label, icon, run }: { label: string; icon: ReactNode; run: () => void }) {
  return (
    <button
      type="button"
      onClick={run}
      title={label}
      aria-label={label}
      className="grid size-11 place-items-center rounded-md text-dim hover:bg-hover hover:text-ink md:size-8"
    >
      {icon}
    </button>
  );
}

/** What ran out of money goes on only with more of it. */
function MoreMoney({ agent, onClose }: { agent: AgentState; onClose: () => void }) {
  const [problem, setProblem] = useState("");
  const spent = agent.outcome?.kind === "budget_exhausted" ? agent.outcome.spent_usd : 0;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    resume(agent.id, Number(new FormData(event.currentTarget).get("budget"))).then(
      () => {
        onClose();
        return agents.refresh();
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  };
  return (
    <Dialog title="The budget is spent" onClose={onClose}>
      <form onSubmit={submit}>
        <label className="block text-[13px] font-semibold">
          Budget in USD, what was spent (${spent.toFixed(2)}) included
          <input
            name="budget"
            type="number"
            required
            data-first
            min="0.01"
            step="0.01"
            defaultValue={(Math.ceil(spent * 2 * 100) / 100 || 1).toFixed(2)}
            className="mt-1 min-h-11 w-full rounded-md border border-line bg-page px-2.5 font-normal"
          />
        </label>
        {problem && (
          <p role="alert" className="mt-2 text-bad">
            {problem}
          </p>
        )}
        <button type="submit" className="mt-4 min-h-11 rounded-md bg-accent px-4 font-semibold text-on-accent">
          Go on
        </button>
      </form>
    </Dialog>
  );
}

/** It is only put away, so it can come back. */
async function remove(agent: string, name: string): Promise<void> {
  try {
    await removeAgent(agent);
    go({ screen: "home" });
    await agents.refresh();
    const undo = () => void restoreAgent(agent).then(() => agents.refresh(), complain);
    toast("plain", `${name} was stopped and put away.`, { label: "Undo", run: undo });
  } catch (error) {
    complain(error);
  }
}
