import { isRecord } from "./frames.ts";
import type { Pending, Said } from "./view.ts";

/**
 * What the person has said and the server has not taken outlives the page: whoever loads it again, because the server
 * does not answer, finds it where it was. In this tab alone; another one may be about to send it.
 */
const keyOf = (agent: string) => `agiraph.unsent.${agent}`;

export function keepUnsent(agent: string, pending: readonly Pending[]): void {
  const left = pending.filter(({ isTaken }) => !isTaken).map(({ to, text, isHint }) => ({ to, text, isHint }));
  try {
    if (left.length === 0) sessionStorage.removeItem(keyOf(agent));
    else sessionStorage.setItem(keyOf(agent), JSON.stringify(left));
  } catch {
    // No storage, or none left: it lasts as long as the page.
  }
}

export function broughtBack(agent: string): Said[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(keyOf(agent)) ?? "[]");
    if (!Array.isArray(stored)) return [];
    return stored.flatMap((each: unknown) =>
      isRecord(each) && typeof each.to === "string" && typeof each.text === "string"
        ? [{ to: each.to, text: each.text, isHint: each.isHint === true }]
        : [],
    );
  } catch {
    return [];
  }
}
