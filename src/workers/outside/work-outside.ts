import type { NodeState, WorkerState } from "../../projections/index.ts";
import type { Outcome } from "../../protocol/index.ts";
import { outcomeOf } from "../carry-out.ts";
import { takeUp } from "../taking-up.ts";
import type { Colleagues, Workplace } from "../workplace.ts";
import { programOf } from "./programs.ts";
import { Sitting } from "./sitting.ts";

/**
 * A program that thinks for itself works on a node, until it publishes.
 *
 * X1. Whatever it does, there is an outcome, and when there is one no process of it is left.
 * X2. What is said to it is on disk first; said once, or said again after a crash with the words that it may be known.
 * X3. It is resting or it is spoken to: a turn that ends without a publish is answered, or waits for something that is
 *     on record (an answer, a sub-node, news), and then costs nothing.
 */
export async function workOutside(
  node: NodeState,
  worker: WorkerState,
  team: Colleagues,
  place: Workplace,
  signal: AbortSignal,
): Promise<Outcome> {
  const over = new AbortController();
  let sitting: Sitting | undefined;
  const desk = await takeUp(node, worker, place, signal, async () => sitting?.letGo());
  try {
    const profile = place.outside.program(programOf(worker.spawned));
    sitting = new Sitting(node, worker, profile, desk, team, place, AbortSignal.any([signal, over.signal]));
    return await sitting.work();
  } catch (error) {
    return outcomeOf(error, signal);
  } finally {
    await sitting?.end(signal.aborted ? "at once" : "gently");
    over.abort(new Error("the work has ended"));
    desk.mailbox.close();
  }
}
