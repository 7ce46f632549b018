import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, HUMAN, type NodeId, type RunId, triggerIn } from "../../protocol/index.ts";
import type { Team } from "../team/team.ts";
import { workerIdOf } from "../team/worker-names.ts";
import type { TriggerActions } from "./alarms.ts";

/** Callbacks for triggers, by name: registered by the program, never code from a model. */
export type Callbacks = Readonly<
  Record<string, (args: Readonly<Record<string, unknown>>, key: string) => Promise<void>>
>;

interface Ports {
  /** With what is appended and not yet on disk. */
  pending(): Situation;
  team(run: RunId): Team;
  /** A run with this goal, known by the occurrence that begins it; false when another has begun meanwhile. */
  begin(goal: string, trigger: string): Promise<boolean>;
  /** An agent that rests takes up its work. */
  goOn(): Promise<unknown>;
  /** What the human wrote into `GOAL.md` is heard first. */
  readGoal(): Promise<void>;
  callbacks: Callbacks;
}

/**
 * Performs the actions of triggers. Everything is identified by the key of the occurrence (a message has it as its id,
 * a run as its cause), so that nothing is done twice after a crash.
 */
export function triggerActions({ pending, team, begin, goOn, readGoal, callbacks }: Ports): TriggerActions {
  const openRun = () => {
    const { run } = pending().agent;
    return run && !run.finished ? run.id : undefined;
  };
  return {
    async wake(task, key) {
      await readGoal();
      for (;;) {
        const { run } = pending().agent;
        if (run?.trigger === key) return;
        const open = openRun();
        if (open !== undefined) {
          const isUnheard = isWaiting(pending(), key);
          if (!isUnheard) await team(open).remind(key, "agiraph", COORDINATOR, task);
          await goOn();
          if (isUnheard) throw new Error("Its last message has not been read yet, so it sent no other.");
          return;
        }
        if (await begin(task, key)) return;
      }
    },
    async runNode(id: NodeId) {
      const run = pending().board.nodes[id]?.spec.run_id;
      if (run === undefined) throw new Error(`There is no node "${id}".`);
      if (run !== openRun()) throw new Error(`The run of ${id} has ended.`);
      await team(run).runNode(id);
    },
    async sendMessage(to, content, key) {
      const run = openRun() ?? pending().agent.run?.id;
      if (run === undefined) throw new Error("The agent has not started a run yet.");
      const isForHuman = workerIdOf(to) === HUMAN;
      if (openRun() === undefined && !isForHuman)
        throw new Error(`The run has ended, so ${to} is not there to read it.`);
      // To the human it is the agent who speaks; to its people, the clock.
      await team(run).remind(key, isForHuman ? COORDINATOR : "agiraph", to, content);
    },
    async callback(name, args, key) {
      const registered = Object.hasOwn(callbacks, name) ? callbacks[name] : undefined;
      if (!registered) throw new Error(`There is no callback named "${name}".`);
      await registered(args, key);
    },
  };
}

/** Whether an earlier occurrence of the same trigger waits to be heard: saying it again would only pile up words. */
function isWaiting({ letters }: Situation, key: string): boolean {
  return Object.keys(letters.queued).some((id) => id !== key && triggerIn(id) === triggerIn(key));
}
