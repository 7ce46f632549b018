import type { Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { RunId, Watched } from "../../protocol/index.ts";
import { writeTriggers } from "../../store/run/triggers-file.ts";
import type { Sight } from "../../triggers/change.ts";
import { MEMORY_UPKEEP } from "../../workers/coordinator/cycles.ts";
import { memoryUpkeep } from "../../workers/worker-memory.ts";
import type { PendingLog } from "../state/pending-log.ts";
import type { Team } from "../team/team.ts";
import { Alarms } from "./alarms.ts";
import { Schedule } from "./schedule.ts";
import { type Callbacks, triggerActions } from "./trigger-actions.ts";
import { Watches } from "./watches.ts";

interface TimePorts {
  log: PendingLog;
  now(): Situation;
  pending(): Situation;
  clock: Clock;
  /** The person's, which they may change at any time. */
  timeZone(): string;
  callbacks: Callbacks;
  team(run: RunId): Team;
  begin(goal: string, trigger: string): Promise<boolean>;
  goOn(): Promise<unknown>;
  readGoal(): Promise<void>;
  /** For triggers that wait for a change. */
  look(what: Watched, signal: AbortSignal): Promise<Sight>;
  failed(error: unknown): void;
}

interface Timekeeper {
  schedule: Schedule;
  /** From now on what is due happens, and what may change is looked at. */
  start(): void;
  stop(): Promise<void>;
  /** The triggers are not what they were: their file follows. */
  changed(): void;
}

/** An agent's schedule, and the alarms that carry it out. */
export function timekeeper(ports: TimePorts): Timekeeper {
  const { log, now, pending, clock, timeZone, team, begin, goOn, readGoal, look, failed } = ports;
  const upkeep = async (_: unknown, key: string) => {
    const task = await memoryUpkeep({ log, clock, timeZone: timeZone() });
    if (task) await actions.wake(task, key);
  };
  const callbacks: Callbacks = { ...ports.callbacks, [MEMORY_UPKEEP]: upkeep };
  const actions = triggerActions({ pending, callbacks, team, begin, goOn, readGoal });
  const schedule = new Schedule({ log, pending, clock, timeZone, look, callbacks: Object.keys(callbacks) });
  const changed = fileOf(log.dir, now);
  const alarms = new Alarms({ log, now, pending, clock, actions, changed, failed });
  const watches = new Watches({ log, pending, clock, look, failed });
  return {
    schedule,
    start() {
      alarms.start();
      watches.start();
    },
    async stop() {
      watches.stop();
      await alarms.stop();
    },
    changed,
  };
}

/** `triggers.json` follows, once for all that changed together. */
function fileOf(dir: string, now: () => Situation): () => void {
  let isDue = false;
  const write = () => {
    isDue = false;
    try {
      writeTriggers(dir, now());
    } catch {
      // The disk is full or the folder is gone; the log has everything.
    }
  };
  return () => {
    if (!isDue) setImmediate(write);
    isDue = true;
  };
}
