import { AsyncLocalStorage } from "node:async_hooks";
import type { Actor } from "../../protocol/index.ts";

/**
 * Whose command is being carried out.
 *
 * ACTING-1. Facts that are appended while a command is carried out have its actor (`pending-log.ts`). Passing the actor
 *     through every function would put it into the interface of nearly everything.
 * ACTING-2. What a command starts (workers, alarms, reactions to a fact) is not part of it: it is started with
 *     `onItsOwn`, and its facts have no actor.
 */
const acting = new AsyncLocalStorage<Actor | undefined>();

export function actingAs<T>(actor: Actor, act: () => T): T {
  return acting.run(actor, act);
}

export function onItsOwn<T>(act: () => T): T {
  return acting.getStore() === undefined ? act() : acting.run(undefined, act);
}

export function currentActor(): Actor | undefined {
  return acting.getStore();
}
