import { didYouMean } from "../../boundary/nearest.ts";
import { type OpenTrigger, type Situation, type TriggerState, triggerNamed } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import { COORDINATOR, HUMAN, type NewFact, type TriggerId, type Watched } from "../../protocol/index.ts";
import type { SchedulePort } from "../../tools/schedule.ts";
import { refusal, type ToolOutput } from "../../tools/tool.ts";
import type { Sight } from "../../triggers/change.ts";
import { nextOccurrence } from "../../triggers/cron.ts";
import { nextDue } from "../../triggers/due.ts";
import { checkedTrigger, type TriggerOrder } from "../../triggers/trigger-order.ts";
import { asWritten } from "../../triggers/wall-clock.ts";
import { isCycle } from "../../workers/coordinator/cycles.ts";
import type { PendingLog } from "../state/pending-log.ts";
import { workerIdOf } from "../team/worker-names.ts";
import { actionIn, conditionIn } from "./trigger-text.ts";

export interface SchedulePorts {
  log: Pick<PendingLog, "append" | "drained">;
  /** With what is appended and not yet on disk: everything is decided by it. */
  pending(): Situation;
  clock: Pick<Clock, "now">;
  /** The zone that holds where none is named. */
  timeZone(): string;
  /** The names of what may be called back. */
  callbacks: readonly string[];
  /** For triggers that wait for a change. */
  look(what: Watched, signal: AbortSignal): Promise<Sight>;
}

type AddedTrigger = { ok: true; trigger_id: TriggerId; words: string } | { ok: false; reason: string };

/**
 * What people may schedule. Everything is checked against the fold and then recorded in one append; what is not
 * possible is answered with the reason, and nothing changes.
 */
export class Schedule {
  readonly #ports: SchedulePorts;

  constructor(ports: SchedulePorts) {
    this.#ports = ports;
  }

  /** For the tools of one of them. What a worker sets comes to it as a message, and it sees and cancels its own. */
  by(who: string): SchedulePort {
    if (who !== COORDINATOR) return this.#byWorker(who);
    return {
      schedule: (order) => this.create(who, order),
      triggers: () => this.describe(),
      cancel: (id) => this.cancel(who, id),
    };
  }

  #byWorker(who: string): SchedulePort {
    return {
      schedule: async (order) => {
        const { type, action } = order;
        if (type === "heartbeat" || type === "on_change" || typeof action !== "string")
          return refusal(
            "Not scheduled: as a worker, give the action in words (it comes to you as a message, or to the coordinator if you have no work by then), with the type delayed, at_time, scheduled, on_event or on_idle.",
          );
        return this.create(who, { ...order, action: { type: "send_message", payload: { to: who, content: action } } });
      },
      triggers: () => this.describe(who),
      cancel: async (id) => {
        const trigger = triggerNamed(this.#ports.pending().triggers, id);
        if (trigger && trigger.created_by !== who) return refusal(`${id} is not yours: you can cancel only your own.`);
        return this.cancel(who, id);
      },
    };
  }

  async create(by: string, order: TriggerOrder): Promise<ToolOutput> {
    const made = await this.add(by, order);
    return made.ok ? made.words : refusal(`Not scheduled: ${made.reason}`);
  }

  /** The new trigger with what there is to say about it, or why there is none. */
  async add(by: string, order: TriggerOrder): Promise<AddedTrigger> {
    const { timeZone, callbacks, pending, log } = this.#ports;
    const addressProblem = (name: string) => this.#addressProblem(name);
    const checked = checkedTrigger(order, {
      ...{ now: pending(), at: this.#at(), timeZone: timeZone(), callbacks, addressProblem },
    });
    if (!checked.ok) return { ok: false, reason: checked.reason };
    const { when } = checked.value;
    const first = when.type === "on_change" ? await this.#firstLook(by, when.config) : undefined;
    if (typeof first === "string") return { ok: false, reason: first };
    // Only now: while it was looked, others may have made one.
    const trigger_id = `trigger-${pending().triggers.made + 1}` as const;
    const facts: NewFact[] = [{ type: "trigger.created", data: { trigger_id, ...checked.value, created_by: by } }];
    if (first) facts.push({ type: "trigger.looked", data: { trigger_id, seen: first } });
    await log.append({ facts }).durable;
    const made = triggerNamed(this.#ports.pending().triggers, trigger_id);
    const words = made ? `Scheduled ${this.#line(made)}${this.#comings(made)}` : `Scheduled ${trigger_id}.`;
    return { ok: true, trigger_id, words };
  }

  /** What is there now, with which later looks are compared; or why it cannot be looked at, while somebody can fix it. */
  async #firstLook(by: string, what: Watched): Promise<{ hash: string; bytes: number } | string> {
    const needed = what.url !== undefined ? "web_fetch" : what.path !== undefined ? "read_file" : "bash";
    const allowed = this.#ports.pending().agent.created.tools;
    if (by !== HUMAN && allowed && !allowed.includes(needed)) return `this agent was not given ${needed}.`;
    try {
      const { hash, bytes } = await this.#ports.look(what, AbortSignal.timeout(LONGEST_LOOK_MS));
      return { hash, bytes };
    } catch (error) {
      return `it cannot be looked at: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async cancel(by: string, id: string): Promise<ToolOutput> {
    const trigger = this.#named(id);
    if (typeof trigger === "string") return refusal(trigger);
    if (trigger.status === "cancelled") await this.#ports.log.drained();
    if (trigger.status === "cancelled") return `${trigger.id} is cancelled.`;
    if (isOver(trigger)) return refusal(`${trigger.id} is over (${trigger.status}); there is nothing to cancel.`);
    await this.#append({ type: "trigger.cancelled", data: { trigger_id: trigger.id, by } });
    return `${trigger.id} is cancelled.`;
  }

  async pause(by: string, id: string): Promise<ToolOutput> {
    const trigger = this.#named(id);
    if (typeof trigger === "string") return refusal(trigger);
    if (trigger.status !== "active") return refusal(`${trigger.id} cannot be paused: it is ${trigger.status}.`);
    await this.#append({ type: "trigger.paused", data: { trigger_id: trigger.id, by } });
    return `${trigger.id} is paused.`;
  }

  /** It goes on from now: what would have been due meanwhile is not made up for. A time that has passed is due now. */
  async resume(by: string, id: string): Promise<ToolOutput> {
    const trigger = this.#named(id);
    if (typeof trigger === "string") return refusal(trigger);
    if (trigger.status !== "paused") return refusal(`${trigger.id} cannot be resumed: it is ${trigger.status}.`);
    await this.#append({ type: "trigger.resumed", data: { trigger_id: trigger.id, by, due: this.#dueAgain(trigger) } });
    return `${trigger.id} is resumed.`;
  }

  /** All of them, or those of one worker. */
  describe(of?: string): string {
    const now = this.#ports.pending();
    const shown = Object.values(now.triggers.open).filter(({ created_by }) => of === undefined || created_by === of);
    const lines = shown.map((trigger) => `- ${this.#line(trigger)}`);
    if (of === undefined && now.agent.created.mode === "infinite" && !shown.some(isCycle)) lines.push(`- ${OWN_CYCLE}`);
    return lines.length > 0 ? lines.join("\n") : "There are no triggers.";
  }

  #dueAgain(trigger: OpenTrigger): number | null {
    if (trigger.when.type !== "scheduled") return trigger.due;
    return nextOccurrence(trigger.when.config.cron, trigger.when.config.time_zone, this.#at());
  }

  #line(trigger: TriggerState): string {
    const next = nextDue(trigger, this.#ports.pending(), this.#at());
    const when = next === null ? "" : `, next ${this.#written(trigger, next)}`;
    const what = isCycle(trigger) ? "your next cycle (set anew after each)" : actionIn(trigger.action);
    const problem = trigger.problem === undefined ? "" : ` (cannot be looked at: ${trigger.problem})`;
    return `${trigger.id} [${trigger.status}] ${conditionIn(trigger)}${when}: ${what}${problem}`;
  }

  /** The next times of a calendar, so that the person who wrote it sees what it means. */
  #comings({ when, ...trigger }: TriggerState): string {
    if (when.type !== "scheduled" || trigger.status !== "active" || trigger.due === null) return "";
    const times: string[] = [];
    for (let at: number | null = trigger.due; at !== null && times.length < 3; ) {
      times.push(asWritten(at * 1000, when.config.time_zone));
      at = nextOccurrence(when.config.cron, when.config.time_zone, at);
    }
    return `\nIt comes at ${times.join(", ")} …`;
  }

  #written({ when }: TriggerState, seconds: number): string {
    return asWritten(seconds * 1000, "time_zone" in when.config ? when.config.time_zone : this.#ports.timeZone());
  }

  #named(id: string): TriggerState | string {
    const { triggers } = this.#ports.pending();
    const there = Object.keys(triggers.open).join(", ");
    const list = there === "" ? "There are none yet." : `Choose from: ${there}.`;
    return triggerNamed(triggers, id) ?? `There is no trigger "${id}". ${list}`;
  }

  #addressProblem(name: string): string | undefined {
    const { roster } = this.#ports.pending();
    const id = workerIdOf(name);
    if (name === "*" || id === HUMAN || id === COORDINATOR || Object.hasOwn(roster, id)) return undefined;
    const names = Object.values(roster).map((worker) => worker.spawned.name);
    const known = [...names, HUMAN];
    return `There is nobody named "${name}".${didYouMean(name, known)} Choose from: ${known.join(", ")}.`;
  }

  #at(): number {
    return this.#ports.clock.now() / 1000;
  }

  #append(fact: NewFact): Promise<void> {
    return this.#ports.log.append({ facts: [fact] }).durable;
  }
}

const OWN_CYCLE = "your next cycle: set by itself when this one ends, with the nightly upkeep of your memory";
const LONGEST_LOOK_MS = 90_000;

function isOver({ status }: TriggerState): boolean {
  return status !== "active" && status !== "paused";
}
