import { type Fact, type FactOf, type Occurrence, occurrenceKey } from "../../src/protocol/index.ts";
import { factsOf } from "./invariants.ts";
import type { History } from "./simulate.ts";

/** TEAM-13: what is to happen later happens, once. */
export function triggerProblems(history: History): string[] {
  const { facts, now } = history;
  const fired = factsOf(facts, "trigger.fired");
  const done = factsOf(facts, "trigger.done");
  // Whoever was paused or stopped is left alone, also by what fired just before.
  const mayAct = now.agent.status !== "paused" && now.agent.status !== "stopped";
  return [
    ...twice(
      "fired",
      fired.map(({ data }) => data),
    ),
    ...twice(
      "done",
      done.map(({ data }) => data),
    ),
    ...fired.flatMap((fact) => effectProblems(fact, history, mayAct)),
    ...factsOf(facts, "trigger.created").flatMap((fact) => (mayAct ? missedBy(fact, facts) : [])),
  ];
}

function twice(what: string, list: readonly Occurrence[]): string[] {
  const keys = list.map(occurrenceKey);
  return keys.filter((key, at) => keys.indexOf(key) !== at).map((key) => `TEAM-13: ${key} was ${what} twice`);
}

/** Done after it fired; what it asked for is there once, or it says why not. */
function effectProblems({ seq, data }: FactOf<"trigger.fired">, { facts }: History, mayAct: boolean): string[] {
  const key = occurrenceKey(data);
  const done = factsOf(facts, "trigger.done").find((fact) => occurrenceKey(fact.data) === key);
  const effects = facts.filter(
    (fact) =>
      (fact.type === "message.sent" && fact.data.message_id === key) ||
      (fact.type === "run.started" && fact.data.trigger === key),
  );
  if (!done) return mayAct ? [`TEAM-13: ${key} fired and nothing came of it`] : [];
  if (done.seq < seq) return [`TEAM-13: ${key} was done before it fired`];
  const says = data.action === "wake_agent" || data.action === "send_message";
  // Said, though nobody could go on (there was no money, say): it waits to be heard.
  if (done.data.problem !== undefined && effects.length <= 1) return [];
  const wanted = says ? 1 : 0;
  return effects.length === wanted
    ? []
    : [`TEAM-13: ${key} (${data.action}) was done ${effects.length} times, not ${wanted}`];
}

const STORM = 10;

/** What it waited for has come, and it did not fire. */
function missedBy({ seq, data }: FactOf<"trigger.created">, facts: readonly Fact[]): string[] {
  const { trigger_id: id, when } = data;
  const mine = facts.filter((fact) => "trigger_id" in fact.data && fact.data.trigger_id === id);
  const fired = mine.filter((fact) => fact.type === "trigger.fired");
  const over = mine.find((fact) => fact.type === "trigger.cancelled" || fact.type === "trigger.expired");
  if (when.type === "delayed") {
    if (fired.length > 1) return [`TEAM-13: ${id} is due once and fired ${fired.length} times`];
    return fired.length + (over ? 1 : 0) === 0 ? [`TEAM-13: ${id} was due and never fired`] : [];
  }
  if (when.type !== "on_event") return [];
  const awaited = facts.filter(
    (fact) =>
      fact.seq > seq && fact.seq < (over?.seq ?? Number.POSITIVE_INFINITY) && fact.type === when.config.event_pattern,
  );
  const causes = fired.flatMap((fact) => (fact.type === "trigger.fired" ? (fact.data.cause ?? []) : []));
  const stray = causes.filter((cause) => !awaited.some((fact) => fact.seq === cause));
  // In a storm many are taken together.
  const unheard = awaited.length > STORM || over ? [] : awaited.filter((fact) => !causes.includes(fact.seq));
  return [
    ...stray.map((cause) => `TEAM-13: ${id} fired for fact ${cause}, which it did not wait for`),
    ...unheard.map((fact) => `TEAM-13: ${id} never fired for fact ${fact.seq}`),
  ];
}
