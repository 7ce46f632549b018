import { isAtRest, type OpenTrigger, type Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { NewFact, TriggerId, Watched } from "../../protocol/index.ts";
import { StoreError } from "../../store/errors.ts";
import type { AgentLog } from "../../store/store.ts";
import { foreignText } from "../../tools/web-foreign.ts";
import { nap } from "../../triggers/alarm.ts";
import { changeWords, type Sight } from "../../triggers/change.ts";
import { beatsOf } from "../../triggers/due.ts";
import { watchedIn } from "./trigger-text.ts";

export interface WatchPorts {
  log: Pick<AgentLog, "append" | "subscribe">;
  pending(): Situation;
  clock: Clock;
  look(what: Watched, signal: AbortSignal): Promise<Sight>;
  /** The record could not be kept. */
  failed(error: unknown): void;
}

/** A page that is unavailable for a moment has not changed. */
const FAILURES_TOLD = 3;

/**
 * Checks what the `on_change` triggers of one agent watch.
 *
 * WATCHES-1. The hash of what was seen last is a fact: after a restart a change is noticed once, and never twice. The
 *     first check records what is there and fires nothing.
 * WATCHES-2. The firing and what was seen are one append. A check that finds nothing new leaves no trace.
 * WATCHES-3. One check at a time per trigger, and none while its agent is paused, stopped or archived.
 * WATCHES-4. If something cannot be checked, that is reported once, after some attempts, and it is retried.
 * WATCHES-5. If what was seen could not be recorded, the watches end; they check again when they are restarted, for
 *     example when the disk has room.
 */
export class Watches {
  readonly #ports: WatchPorts;
  readonly #open = new Map<TriggerId, AbortController>();
  readonly #texts = new Map<TriggerId, string | null>();
  #unsubscribe: (() => void) | undefined;

  constructor(ports: WatchPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#unsubscribe ??= this.#ports.log.subscribe((fact) => {
      if (MAY_CHANGE.test(fact.type)) this.#follow();
    }, "all but turns");
    this.#follow();
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    for (const watch of this.#open.values()) watch.abort(STOPPED);
    this.#open.clear();
  }

  #follow(): void {
    const { agent, triggers } = this.#ports.pending();
    const isActive = (id: TriggerId) => !isAtRest(agent) && triggers.open[id]?.status === "active";
    for (const [id, watch] of this.#open) {
      if (isActive(id)) continue;
      watch.abort(STOPPED);
      this.#open.delete(id);
    }
    for (const { id, when } of Object.values(triggers.open)) {
      if (when.type !== "on_change" || this.#open.has(id) || !isActive(id)) continue;
      const watch = new AbortController();
      this.#open.set(id, watch);
      this.#watch(id, watch.signal).catch((error: unknown) => {
        if (watch.signal.aborted) return;
        this.#open.delete(id);
        this.#ports.failed(error);
      });
    }
    for (const id of this.#texts.keys()) if (!triggers.open[id]) this.#texts.delete(id);
  }

  async #watch(id: TriggerId, signal: AbortSignal): Promise<void> {
    const { pending, clock } = this.#ports;
    for (let failures = 0; !signal.aborted; ) {
      const trigger = pending().triggers.open[id];
      if (trigger?.when.type !== "on_change") return;
      failures = (await this.#look(trigger, trigger.when.config, failures, signal)) ? 0 : failures + 1;
      const every = { interval_seconds: trigger.when.config.every_seconds };
      const { next } = beatsOf(trigger.since_ts, every, clock.now() / 1000);
      while (clock.now() / 1000 < next) await nap(next, clock, signal);
    }
  }

  /** Whether it could be looked at. */
  async #look(trigger: OpenTrigger, what: Watched, failures: number, signal: AbortSignal): Promise<boolean> {
    const { id: trigger_id, seen, problem } = trigger;
    const sight = await this.#ports.look(what, signal).catch((error: unknown) => {
      if (signal.aborted || error instanceof StoreError) throw error;
      return error instanceof Error ? error.message : String(error);
    });
    signal.throwIfAborted();
    if (typeof sight === "string") {
      if (problem !== undefined || failures + 1 < FAILURES_TOLD) return false;
      const news = `${watchedIn(what)} cannot be looked at: ${sight} It keeps being checked; you hear only of changes.`;
      await this.#record({ type: "trigger.looked", data: { trigger_id, problem: sight } }, this.#fired(trigger, news));
      return false;
    }
    const { hash, bytes } = sight;
    const looked: NewFact = { type: "trigger.looked", data: { trigger_id, seen: { hash, bytes } } };
    const before = this.#texts.get(trigger_id);
    if (!seen) await this.#record(looked);
    else if (seen.hash !== hash)
      await this.#record(looked, this.#fired(trigger, newsOf(what, changeWords(watchedIn(what), seen, sight, before))));
    else if (problem !== undefined) await this.#record(looked);
    this.#texts.set(trigger_id, sight.text);
    return true;
  }

  #fired({ id: trigger_id, action }: OpenTrigger, news: string): NewFact {
    const due = this.#ports.clock.now() / 1000;
    return { type: "trigger.fired", data: { trigger_id, due, action: action.type, next_due: null, news } };
  }

  #record(...facts: NewFact[]): Promise<void> {
    return this.#ports.log.append({ facts }).durable;
  }
}

/** What a page says is not ours to say. */
function newsOf({ url }: Watched, { head, lines }: { head: string; lines: string }): string {
  if (lines === "") return head;
  return `${head}\n${url === undefined ? lines : foreignText(url, lines)}`;
}

const MAY_CHANGE = /^(?:trigger\.(?:created|paused|resumed|cancelled|expired)|agent\.)/;
const STOPPED = new Error("it is no longer watched");
