import type { z } from "zod";
import { problemsIn } from "../boundary/unknown-field.ts";
import { fitsPattern, nodeNamed, type Situation } from "../projections/index.ts";
import {
  actionTypes,
  type Condition,
  type ConditionType,
  conditionSchema,
  factData,
  factTypes,
  type MissedPolicy,
  type TriggerAction,
  triggerActionSchema,
} from "../protocol/index.ts";
import { cronProblem, nextOccurrence } from "./cron.ts";
import { asWritten, instantOf, isTimeZone } from "./wall-clock.ts";

/** A request for a trigger, as it came. */
export interface TriggerOrder {
  type: ConditionType;
  config: Readonly<Record<string, unknown>>;
  /** A task in words wakes the agent with it. */
  action: string | Readonly<Record<string, unknown>>;
  time_zone?: string | undefined;
  missed?: MissedPolicy | undefined;
}

export interface TriggerContext {
  now: Situation;
  /** In seconds. */
  at: number;
  /** The zone that holds where none is named. */
  timeZone: string;
  /** The names of what may be called back. */
  callbacks: readonly string[];
  /** Why a message could not be sent to this name, or undefined. */
  addressProblem(name: string): string | undefined;
}

export interface NewTrigger {
  when: Condition;
  action: TriggerAction;
  missed: MissedPolicy;
  due: number | null;
}

type Checked<T> = { ok: true; value: T } | { ok: false; reason: string };

const MOST_TRIGGERS = 100;

/** The checked trigger with its absolute time; or what is wrong, in words that help to fix it. */
export function checkedTrigger(order: TriggerOrder, around: TriggerContext): Checked<NewTrigger> {
  if (Object.keys(around.now.triggers.open).length >= MOST_TRIGGERS)
    return wrong(`There are ${MOST_TRIGGERS} triggers already. Cancel those you no longer need (list_triggers).`);
  const when = conditionOf(order, around);
  if (!when.ok) return when;
  const due = firstDue(when.value, around);
  if (!due.ok) return due;
  const action = actionOf(order.action, around);
  if (!action.ok) return action;
  const missed = order.missed ?? (order.type === "heartbeat" ? "skip" : "once");
  return right({ when: when.value, action: action.value, missed, due: due.value });
}

const EXAMPLES: Record<ConditionType, string> = {
  scheduled: '{"cron": "0 9 * * MON", "time_zone": "Europe/Berlin"}',
  delayed: '{"delay_seconds": 1800}',
  at_time: '{"at": "2027-02-12T09:00:00", "time_zone": "Europe/Berlin"}',
  heartbeat: '{"interval_seconds": 1800}',
  on_event: '{"event_pattern": "node.completed", "filter": {"node_id": "node-1"}}',
  on_idle: '{"idle_seconds": 3600}',
  on_change: '{"url": "https://example.com/news", "every_seconds": 3600}, with "path" or "command" instead of "url"',
};

function conditionOf({ type, config, time_zone }: TriggerOrder, around: TriggerContext): Checked<Condition> {
  const isOnTheWall = type === "scheduled" || type === "at_time";
  const zone = { time_zone: config.time_zone ?? time_zone ?? around.timeZone };
  const usual = type === "on_change" ? { every_seconds: USUAL_LOOK_SECONDS } : {};
  const parsed = conditionSchema.safeParse({ type, config: { ...usual, ...config, ...(isOnTheWall ? zone : {}) } });
  if (!parsed.success)
    return wrong(
      `${problemsIn(parsed.error, formOf(conditionSchema, type))}\nThe config of ${type} looks like ${EXAMPLES[type]}.`,
    );
  const when = parsed.data;
  if ("time_zone" in when.config && !isTimeZone(when.config.time_zone))
    return wrong(`"${when.config.time_zone}" is not a time zone. Use an IANA name such as Europe/Berlin or UTC.`);
  const problem = when.type === "on_event" ? eventProblem(when.config) : undefined;
  return problem === undefined ? right(when) : wrong(problem);
}

/** The absolute time: computed once, here, and kept. */
function firstDue(when: Condition, { at }: TriggerContext): Checked<number | null> {
  switch (when.type) {
    case "scheduled": {
      const { cron, time_zone } = when.config;
      const problem = cronProblem(cron);
      if (problem !== undefined) return wrong(problem);
      const due = nextOccurrence(cron, time_zone, at);
      return due === null ? wrong(`"${cron}" names a time that never comes.`) : right(due);
    }
    case "delayed":
      return right(inMilliseconds(at + when.config.delay_seconds));
    case "at_time":
      return timeOf(when.config, at);
    default:
      return right(null);
  }
}

const USUAL_LOOK_SECONDS = 300;
const WRITTEN = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:?\d\d)?$/i;

function timeOf({ at: written, time_zone }: { at: string; time_zone: string }, now: number): Checked<number> {
  const [, date, minute, second = ":00", offset] = WRITTEN.exec(written.trim()) ?? [];
  const wall = Date.parse(`${date}T${minute}${second}Z`);
  // JavaScript takes 30 February for 2 March.
  if (Number.isNaN(wall) || new Date(wall).toISOString().slice(0, 10) !== date)
    return wrong(
      `"${written}" is not a time. Write it as 2027-02-12T09:00:00, or with an offset: 2027-02-12T09:00:00+01:00.`,
    );
  const due = offset === undefined ? instantOf(wall, time_zone) : wall - offsetIn(offset);
  const nowWritten = asWritten(now * 1000, time_zone);
  if (due <= now * 1000) return wrong(`${written} is in the past: it is ${nowWritten} in ${time_zone}.`);
  return right(due / 1000);
}

function offsetIn(text: string): number {
  if (/z/i.test(text)) return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return (text.startsWith("-") ? -minutes : minutes) * 60_000;
}

function eventProblem({ event_pattern, filter = {} }: Extract<Condition, { type: "on_event" }>["config"]) {
  if (/^[*.]+$/.test(event_pattern))
    return `"${event_pattern}" is everything that happens. Name what to wait for, e.g. node.*.`;
  const types = factTypes.filter((type) => !type.startsWith("trigger.") && fitsPattern(event_pattern, type));
  if (types.length === 0) {
    const kin = factTypes.filter(
      (type) => type.split(".")[0] === event_pattern.split(".")[0] && !type.startsWith("trigger."),
    );
    const some = kin.length > 0 ? kin : ["node.completed", "node.*", "message.sent", "suggestion.made", "agent.failed"];
    return `No event is called "${event_pattern}". Choose from: ${some.join(", ")}.`;
  }
  const fields = [...new Set(types.flatMap((type) => Object.keys(factData[type].shape)))];
  const unknown = Object.keys(filter).find((field) => !fields.includes(field));
  return unknown === undefined
    ? undefined
    : `${event_pattern} has no field "${unknown}", so it would never fire. Its fields: ${fields.join(", ")}.`;
}

function actionOf(asked: TriggerOrder["action"], around: TriggerContext): Checked<TriggerAction> {
  const action = typeof asked === "string" ? wake(asked) : withPayload(asked);
  const parsed = triggerActionSchema.safeParse(action);
  if (!parsed.success)
    return wrong(
      `${problemsIn(parsed.error, formOf(triggerActionSchema, action.type))}\nAn action is a task in words, or {"type": …, "payload": …} with the type ${actionTypes.join(", ")}.`,
    );
  const problem = actionProblem(parsed.data, around);
  return problem === undefined ? right(parsed.data) : wrong(problem);
}

/** Of the forms that a condition or an action has, the one of this type. */
function formOf(
  { options }: typeof conditionSchema | typeof triggerActionSchema,
  type: unknown,
): z.ZodType | undefined {
  return options.find(({ shape }) => shape.type.value === type);
}

function wake(task: string): TriggerAction {
  return { type: "wake_agent", payload: { task } };
}

/** `{type, task}` is as good as `{type, payload: {task}}`, and a part of it may be on either side. */
function withPayload({ type, payload = {}, ...rest }: Readonly<Record<string, unknown>>) {
  return { type, payload: payload instanceof Object ? { ...rest, ...payload } : payload };
}

function actionProblem({ type, payload }: TriggerAction, { now, callbacks, addressProblem }: TriggerContext) {
  switch (type) {
    case "wake_agent":
      return undefined;
    case "send_message":
      return addressProblem(payload.to);
    case "run_callback":
      if (callbacks.includes(payload.name)) return undefined;
      return `No callback is called "${payload.name}". ${callbacks.length > 0 ? `Choose from: ${callbacks.join(", ")}.` : "None is registered."}`;
    case "run_node": {
      const node = nodeNamed(now.board, payload.node_id);
      const nodes = Object.keys(now.board.nodes);
      if (!node)
        return `There is no node "${payload.node_id}". ${nodes.length > 0 ? `Choose from: ${nodes.join(", ")}.` : "The board is empty."}`;
      return node.status === "pending"
        ? undefined
        : `${node.id} is ${node.status}; only a waiting node can be run later.`;
    }
  }
}

function inMilliseconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

function right<T>(value: T): Checked<T> {
  return { ok: true, value };
}

function wrong(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}
