import { Pause, Play, Square, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { agents } from "../live/agents.ts";
import { removeAgent, restoreAgent, steer } from "../live/api.ts";
import { complain, toast } from "../shell/overlay.ts";
import { go } from "../shell/route.ts";

/** Stop, pause, go on, put away: what makes sense now. */
export function Controls({ agent, name, status }: { agent: string; name: string; status: string }) {
  const isAtWork = status === "working" || status === "waiting_for_human";
  const mayGoOn = status === "paused" || status === "stopped" || status === "failed";
  const act = (how: "pause" | "resume" | "stop") => () => void steer(agent, how).then(() => agents.refresh(), complain);
  return (
    <div className="flex shrink-0 items-center">
      {isAtWork && <Control label="Pause" icon={<Pause className="size-4" aria-hidden />} run={act("pause")} />}
      {isAtWork && <Control label="Stop" icon={<Square className="size-4" aria-hidden />} run={act("stop")} />}
      {mayGoOn && <Control label="Resume" icon={<Play className="size-4" aria-hidden />} run={act("resume")} />}
      <Control label="Delete" icon={<Trash2 className="size-4" aria-hidden />} run={() => void remove(agent, name)} />
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
