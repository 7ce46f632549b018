import { Archive, Pause, Play, Square } from "lucide-react";
import type { AgentState } from "../../../src/projections/index.ts";
import { useRest } from "../shell/rest.ts";
import { type Steer, steering } from "./steering.ts";

const ICONS: Record<Steer["label"], typeof Pause> = { Pause, Stop: Square, Resume: Play, Archive };

/** Stop, pause, resume, archive: what is possible now. */
export function Controls({ agent }: { agent: AgentState }) {
  return <Buttons key={agent.id} agent={agent} />;
}

/** What one presses makes room for something else at the same place: a second click must not do that too. */
function Buttons({ agent }: { agent: AgentState }) {
  const steers = steering(agent);
  const [isResting, pressed] = useRest(steers.map(({ label }) => label).join());
  return (
    <div className="flex shrink-0 items-center">
      {steers.map(({ label, run }) => {
        const Icon = ICONS[label];
        return (
          <button
            key={label}
            type="button"
            onClick={() => {
              if (isResting) return;
              pressed();
              run();
            }}
            aria-disabled={isResting}
            title={label}
            aria-label={label}
            className="grid size-11 place-items-center rounded-md text-dim hover:bg-hover hover:text-ink aria-disabled:opacity-60 md:size-8"
          >
            <Icon className="size-4" aria-hidden />
          </button>
        );
      })}
    </div>
  );
}
