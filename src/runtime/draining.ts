import type { Hosting } from "./hosting.ts";
import type { OpenAgents } from "./open-agents.ts";
import type { TurnHold } from "./turn-hold.ts";

export interface DrainingPorts {
  hosting: Pick<Hosting, "onBeat" | "signal">;
  hold: TurnHold;
  agents: Pick<OpenAgents, "leaveAll">;
}

/** This host gives everything away. Nothing was done. */
export class DrainingError extends Error {
  override readonly name = "DrainingError";
  constructor(id: string) {
    super(
      `This host is being drained and takes nothing new, so ${id} was not opened. Ask another host, or end it: agiraph hosts drain NAME --undo`,
    );
  }
}

/**
 * A host that is to be emptied, for an upgrade say: nothing new is taken, turns end, and then all its agents go on at
 * other hosts.
 */
export function drainWhenAsked({ hosting, hold, agents }: DrainingPorts): void {
  let isEmptying = false;
  const empty = async () => {
    await hold.quiet(hosting.signal);
    if (hold.isOn && !hosting.signal.aborted) await agents.leaveAll();
  };
  hosting.onBeat(({ isDraining }) => {
    if (!isDraining) return hold.end();
    hold.begin();
    if (isEmptying) return;
    isEmptying = true;
    // What could not be given away is tried again with the next heartbeat.
    void empty()
      .catch(() => {})
      .finally(() => {
        isEmptying = false;
      });
  });
}
