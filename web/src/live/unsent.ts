import { isRecord } from "./event-frames.ts";
import type { PendingWords, SaidWords } from "./view.ts";

/**
 * Messages that the server has not accepted survive a reload of the page: a person who reloads it because the server
 * does not answer finds them again. Only in this tab; another one may be about to send them.
 */
const keyOf = (agent: string) => `agiraph.unsent.${agent}`;

export function keepUnsent(agent: string, pending: readonly PendingWords[]): void {
  const left = pending.filter(({ isTaken }) => !isTaken).map(({ to, text, isHint }) => ({ to, text, isHint }));
  try {
    if (left.length === 0) sessionStorage.removeItem(keyOf(agent));
    else sessionStorage.setItem(keyOf(agent), JSON.stringify(left));
  } catch {
    // No storage, or none left: it lasts as long as the page.
  }
}

export function broughtBack(agent: string): SaidWords[] {
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
