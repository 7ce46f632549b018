import { useEffect } from "react";
import { agents } from "../live/agents.ts";
import { isInSight } from "./in-sight.ts";
import { closeOverlay, openOverlay, useOverlay } from "./overlay.ts";
import { go, goTo, type PagePlace, routeNow } from "./route.ts";

export const SHORTCUTS: readonly { keys: string; does: string }[] = [
  { keys: "Ctrl K", does: "find anything" },
  { keys: "?", does: "keyboard shortcuts" },
  { keys: "n", does: "new agent" },
  { keys: "1 – 9", does: "answer the visible question" },
  { keys: "/", does: "write; Alt Enter sends it as a hint" },
  { keys: "Alt ↑ ↓", does: "previous or next worker of the team" },
  { keys: "c", does: "coordinator" },
  { keys: "b", does: "board; arrow keys move from card to card along its edges" },
  { keys: "d", does: "changes in the repository" },
  { keys: "t", does: "timeline" },
  { keys: "f", does: "files" },
  { keys: "m", does: "memory" },
  { keys: "s", does: "triggers: what happens later" },
  { keys: "[ ]", does: "replay: one fact back, one forward" },
  { keys: "Esc", does: "close; leave the field or the node; back to now" },
];

/** Where changes are read, these come before the others. */
export const REVIEW_SHORTCUTS: readonly { keys: string; does: string }[] = [
  { keys: "j k", does: "next or previous file" },
  { keys: "n p", does: "next or previous change; ↑ ↓ continue from there" },
  { keys: "c", does: "comment on the marked line; Ctrl Enter sends it" },
  { keys: "s", does: "side by side, or one below the other" },
  { keys: "o", does: "collapse or expand a file" },
];

/** Keyboard shortcuts. Letters count only while nobody is typing. */
export function useShortcuts(): void {
  const overlay = useOverlay();
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      // Without a key nothing is opened over that, and what is below stays as it was left.
      if (agents.state === "locked" || event.isComposing) return;
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        if (overlay === "palette") closeOverlay();
        else openOverlay("palette");
        return;
      }
      if (overlay !== "none") return;
      if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        event.preventDefault();
        neighbour(event.key === "ArrowDown" ? 1 : -1);
        return;
      }
      if (event.key === "Escape") leave();
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (letter(event.key)) event.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [overlay]);
}

function letter(key: string): boolean {
  if (/^[1-9]$/.test(key)) return choose(key);
  if (key === "?") openOverlay("shortcuts");
  else if (key === "n") openOverlay("new_agent");
  else if (key === "/") document.querySelector<HTMLElement>("[data-composer]")?.focus();
  else {
    const route = routeNow();
    if (!("agent" in route)) return false;
    const { agent } = route;
    const places: Partial<Record<string, PagePlace>> = {
      c: { screen: "entity", agent, worker: "coordinator" },
      b: { screen: "board", agent, node: null },
      d: { screen: "changes", agent, node: null },
      t: { screen: "timeline", agent },
      f: { screen: "files", agent, path: "" },
      m: { screen: "memory", agent, path: "" },
      s: { screen: "triggers", agent },
    };
    const place = places[key];
    if (place) go(place);
    else if (key === "[") goTo(Math.max(1, (route.at ?? agents.feed(agent).newest) - 1));
    else if (key === "]" && route.at !== null) goTo(Math.min(agents.feed(agent).newest, route.at + 1));
    else return false;
  }
  return true;
}

/** The newest open question in sight has the keys: what one does not see, one does not answer. */
function choose(key: string): boolean {
  const card = [...document.querySelectorAll<HTMLElement>("[data-question]")].filter(isInSight).at(-1);
  const button = card?.querySelector<HTMLElement>(`[data-choice="${key}"]`);
  button?.click();
  return button !== undefined && button !== null;
}

function leave(): void {
  if (isTyping(document.activeElement)) (document.activeElement as HTMLElement).blur();
  else {
    const route = routeNow();
    if (route.screen === "board" && route.node !== null) go({ ...route, node: null });
    else if (route.at !== null) goTo(null);
  }
}

function neighbour(step: number): void {
  const members = [...document.querySelectorAll<HTMLAnchorElement>("nav [data-team] a")].filter(
    ({ offsetParent }) => offsetParent !== null,
  );
  const here = members.findIndex((link) => link.getAttribute("aria-current") === "page");
  const first = step > 0 ? 0 : members.length - 1;
  members[here < 0 ? first : (here + step + members.length) % members.length]?.click();
}

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement
    ? target.type !== "range"
    : target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
