import { isAtRest, type Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { Fact, NodeId, Occurrence, TriggerAction } from "../../protocol/index.ts";
import { StoreError } from "../../store/errors.ts";
import type { AgentLog } from "../../store/store.ts";
import { LONGEST_NAP_MS, nap } from "../../triggers/alarm.ts";
import { whatIsDue } from "../../triggers/due.ts";

/**
 * The actions of triggers. Each resolves when it is done and on disk, and rejects with the reason, in words, if it
 * cannot be done. Called again with the same key (after a crash) it repeats nothing that was done.
 */
export interface TriggerActions {
  wake(task: string, key: string): Promise<void>;
  runNode(id: NodeId, key: string): Promise<void>;
  /** A message whose `message_id` is the key: what triggers write is known by that, and triggers no other. */
  sendMessage(to: string, content: string, key: string): Promise<void>;
  /** A registered name, never code. */
  callback(name: string, args: Readonly<Record<string, unknown>>, key: string): Promise<void>;
}

export interface AlarmPorts {
  log: Pick<AgentLog, "append" | "subscribe">;
  /** What is on disk: what is done follows it. */
  now(): Situation;
  /** With what is appended and not yet on disk: what is due is decided by it. */
  pending(): Situation;
  clock: Clock;
  actions: TriggerActions;
  /** The triggers are not what they were: their file is to be written again. */
  changed(): void;
  /** The record could not be kept. */
  failed(error: unknown): void;
  longestNapMs?: number;
}

type Undone = Occurrence & { action: TriggerAction; news?: string };

/**
 * The alarms of one agent: finds out when the next trigger is due, sleeps until then, and performs its action.
 *
 * ALARMS-1. `trigger.fired` is on disk before anything is done about it, `trigger.done` after. After a crash in between
 *     it is done again under the same key.
 * ALARMS-2. Nothing polls: if nothing can become due by itself, there is no timer, and a new fact makes us check again.
 * ALARMS-3. The action of one trigger may take long or fail; the others are still on time.
 */
export class Alarms {
  readonly #ports: AlarmPorts;
  readonly #stopped = new AbortController();
  readonly #underWay = new Set<string>();
  #unsubscribe = () => {};
  #lookAgain = () => {};
  #watching: Promise<void> | undefined;

  constructor(ports: AlarmPorts) {
    this.#ports = ports;
  }

  start(): void {
    if (this.#watching) return;
    this.#unsubscribe = this.#ports.log.subscribe((fact) => this.#onFact(fact));
    if (this.#ports.now().triggers.made > 0) this.#ports.changed();
    this.#doWhatIsUndone();
    this.#watching = this.#watch(this.#stopped.signal).catch((error: unknown) => {
      if (this.#stopped.signal.aborted) return;
      // Started again, when there is room on the disk say, they watch again.
      this.#watching = undefined;
      this.#unsubscribe();
      this.#ports.failed(error);
    });
  }

  /** What is under way in the meantime is not waited for: what has not been recorded as done is done again. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#stopped.abort();
    this.#lookAgain();
    await this.#watching;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { facts, next } = whatIsDue(this.#ports.pending(), this.#ports.clock.now() / 1000);
      if (facts.length > 0) await this.#ports.log.append({ facts }).durable;
      else await this.#rest(next);
    }
  }

  /** Until a nap is over or something happened that may change when something is due. */
  async #rest(next: number | null): Promise<void> {
    const { clock, longestNapMs = LONGEST_NAP_MS } = this.#ports;
    const { signal, abort } = awakening();
    this.#lookAgain = abort;
    const slept = next === null ? aborted(signal) : nap(next, clock, signal, longestNapMs);
    await slept.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  #onFact(fact: Fact): void {
    if (MAY_GO_ON.has(fact.type)) this.#doWhatIsUndone();
    if (this.#mayChange(fact)) this.#lookAgain();
  }

  #mayChange({ type }: Fact): boolean {
    if (type.startsWith("trigger.") || type.startsWith("agent.")) return true;
    return Object.values(this.#ports.pending().triggers.open).some(({ when }) => FOLLOWS_FACTS.has(when.type));
  }

  #doWhatIsUndone(): void {
    const { agent, triggers } = this.#ports.now();
    // An agent that was paused, stopped or archived is left alone, also by what fired just before.
    if (isAtRest(agent)) return;
    for (const [key, undone] of Object.entries(triggers.undone)) {
      if (this.#underWay.has(key)) continue;
      this.#underWay.add(key);
      this.#carryOut(key, undone)
        .catch((error: unknown) => {
          if (!this.#stopped.signal.aborted) this.#ports.failed(error);
        })
        .finally(() => this.#underWay.delete(key));
    }
  }

  async #carryOut(key: string, { trigger_id, due, cause, action, news }: Undone): Promise<void> {
    const problem = await this.#act(action, key, news).then(() => undefined, problemIn);
    if (this.#stopped.signal.aborted) return;
    const which = { trigger_id, due, ...(cause !== undefined && { cause }) };
    const data = problem === undefined ? which : { ...which, problem };
    await this.#ports.log.append({ facts: [{ type: "trigger.done", data }] }).durable;
  }

  async #act({ type, payload }: TriggerAction, key: string, news: string | undefined): Promise<void> {
    const { actions } = this.#ports;
    const withNews = (words: string) => (news === undefined ? words : `${words}\n\n${news}`);
    switch (type) {
      case "wake_agent":
        return actions.wake(withNews(payload.task), key);
      case "run_node":
        return actions.runNode(payload.node_id, key);
      case "send_message":
        return actions.sendMessage(payload.to, withNews(payload.content), key);
      case "run_callback":
        return actions.callback(payload.name, payload.args ?? {}, key);
    }
  }
}

const MAY_GO_ON = new Set<Fact["type"]>(["trigger.fired", "agent.started", "agent.resumed", "agent.restored"]);

const FOLLOWS_FACTS = new Set(["heartbeat", "on_event", "on_idle"]);

function awakening(): { signal: AbortSignal; abort: () => void } {
  const awake = new AbortController();
  return { signal: awake.signal, abort: () => awake.abort(AWAKE) };
}

/** Made once: a reason with a stack would cost more than the looking. */
const AWAKE = new Error("something happened");

/** What cannot be done is said and not tried for ever; what could not be recorded is another matter. */
function problemIn(error: unknown): string {
  if (error instanceof StoreError) throw error;
  return error instanceof Error ? error.message : String(error);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
