import { Pause, Play, Square, Trash2 } from "lucide-react";
import type { AgentState } from "../../../src/projections/index.ts";
import { type Steer, steering } from "./steering.ts";

const ICONS: Record<Steer["label"], typeof Pause> = { Pause, Stop: Square, Resume: Play, Delete: Trash2 };

/** Stop, pause, go on, put away: what makes sense now. */
export function Controls({ agent }: { agent: AgentState }) {
  return (
    <div className="flex shrink-0 items-center">
      {steering(agent).map(({ label, run }) => {
        const Icon = ICONS[label];
        return (
          <button
            key={label}
            type="button"
            onClick={run}
            title={label}
            aria-label={label}
            className="grid size-11 place-items-center rounded-md text-dim hover:bg-hover hover:text-ink md:size-8"
          >
            <Icon className="size-4" aria-hidden />
          </button>
        );
      })}
    </div>
  );
}
