import { agents } from "./agents.ts";
import { isRecord } from "./frames.ts";

/**
 * What the person has said and the server has not taken outlives the page: whoever loads it again, because the server
 * does not answer, finds it where it was. In this tab alone; another one may be about to send it.
 */
const keyOf = (agent: string) => `agiraph.unsent.${agent}`;
const broughtBack = new Set<string>();

export function noteUnsent(agent: string): void {
  const left = agents.feed(agent).pending.filter(({ isTaken }) => !isTaken);
  try {
    if (left.length === 0) sessionStorage.removeItem(keyOf(agent));
    else
      sessionStorage.setItem(keyOf(agent), JSON.stringify(left.map(({ to, text, isHint }) => ({ to, text, isHint }))));
  } catch {
    // No storage, or none left: it lasts as long as the page.
  }
}

export function bringBack(agent: string): void {
  if (broughtBack.has(agent)) return;
  broughtBack.add(agent);
  const feed = agents.feed(agent);
  for (const said of storedFor(agent))
    feed.refused(feed.expect(said), "The page was left before the server said that it has this. Look whether it does.");
}

function storedFor(agent: string): { to: string; text: string; isHint: boolean }[] {
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
