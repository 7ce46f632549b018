import type { Condition, Fact } from "../protocol/index.ts";
import { isOfTriggers } from "./attention.ts";

type EventConfig = Extract<Condition, { type: "on_event" }>["config"];

/**
 * Whether an `on_event` trigger waits for this fact. Facts caused by triggers never match, so that there are no loops.
 */
export function isAwaited({ event_pattern, filter = {} }: EventConfig, fact: Fact): boolean {
  if (isOfTriggers(fact) || !fitsPattern(event_pattern, fact.type)) return false;
  const data: Record<string, unknown> = fact.data;
  return Object.entries(filter).every(([field, value]) => Object.hasOwn(data, field) && data[field] === value);
}

/** `*` matches any characters: `node.*`, `*.failed`. Compares part by part, so that no pattern takes long. */
export function fitsPattern(pattern: string, type: string): boolean {
  const [head = "", ...parts] = pattern.split("*");
  const tail = parts.pop();
  if (tail === undefined) return type === pattern;
  if (!type.startsWith(head)) return false;
  let at = head.length;
  for (const part of parts) {
    const found = type.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return type.length - tail.length >= at && type.endsWith(tail);
}
