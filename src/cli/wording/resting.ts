import { type Situation, wakes } from "../../projections/index.ts";
import { AGIRAPH } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { asleepWords, moment } from "./asleep.ts";
import { count } from "./format.ts";
import { plain } from "./width.ts";

/** Whether an agent is done but has triggers that are pending or being carried out. */
export function waitsForTriggers(now: Situation): boolean {
  const isUnderWay = Object.keys(now.triggers.undone).length > 0;
  return now.agent.status === "completed" && (activeTriggers(now) > 0 || isUnderWay);
}

/** Whether an infinite agent failed and will retry by itself, or is doing so. */
export function triesAgain(now: Situation): boolean {
  const { status, created } = now.agent;
  const isSet = Object.values(now.triggers.open).some((trigger) => trigger.created_by === AGIRAPH && wakes(trigger));
  return created.mode === "infinite" && status === "failed" && (isSet || Object.keys(now.triggers.undone).length > 0);
}

/** `watch-page failed (The provider does not answer.); it tries again at 14:05.` */
export function retryWords(now: Situation): string {
  const { created, error } = now.agent;
  const due = Object.values(now.triggers.open).flatMap(
    (each) => (each.created_by === AGIRAPH && wakes(each) && each.due) || [],
  );
  const when = due.length > 0 ? ` at ${moment(Math.min(...due), Date.now() / 1000)}` : "";
  return plain(`${created.name} failed (${error ?? "no reason was given"}); it tries again${when}.`);
}

/** `survey-docs is done, and asleep until 14:05.` */
export function restingWords(now: Situation): string {
  const { created, summary } = now.agent;
  const asleep = asleepWords(now, Date.now() / 1000) ?? `${count(activeTriggers(now), "trigger")} may wake it`;
  return plain(`${created.name} is done${summary ? ` (${summary})` : ""}; ${asleep}.`);
}

/** Resolves when the agent is started, when its triggers change, or when the person wants to quit. */
export function somethingElse({ log }: { log: Pick<Agent["log"], "subscribe"> }, leaving: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = log.subscribe(({ type }) => CHANGES.has(type) && resolve());
  if (leaving.aborted) resolve();
  else leaving.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(unsubscribe);
}

const CHANGES = new Set(["agent.started", "trigger.cancelled", "trigger.paused", "trigger.expired", "trigger.done"]);

/** For a person who quits now: triggers do not fire while no process runs. */
export function triggersLeft(now: Situation, call: Invocation): string | undefined {
  const number = activeTriggers(now);
  if (number === 0) return undefined;
  const [are, fire] = number === 1 ? ["is", "It fires"] : ["are", "They fire"];
  const resume = commandLine(call, "resume", now.agent.id);
  return `${count(number, "trigger")} ${are} set. ${fire} only while a process works on it: ${resume}`;
}

function activeTriggers({ triggers }: Situation): number {
  return Object.values(triggers.open).filter(({ status }) => status === "active").length;
}
