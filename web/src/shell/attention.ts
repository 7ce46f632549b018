import { useEffect, useRef } from "react";
import type { InboxItem } from "../live/api.ts";
import { useAgents } from "../live/use-live.ts";
import { toast } from "./overlay.ts";
import { go, routeNow, useRoute } from "./route.ts";

/** Tells the person of new questions where they are: by a toast, in the title, by the browser when the tab is hidden. */
export function useAttention(): void {
  const { inbox, state } = useAgents();
  const route = useRoute();
  const known = useRef<Set<string> | null>(null);
  const questions = inbox.filter(({ kind }) => kind === "question");

  useEffect(() => {
    if (state !== "ready") return;
    const asked = inbox.filter(({ kind }) => kind === "question");
    const before = known.current;
    known.current = new Set(asked.map(keyOf));
    // What was open when the page came is in the sidebar already.
    if (before === null) return;
    for (const item of asked) if (!before.has(keyOf(item))) announce(item);
  }, [inbox, state]);

  useEffect(() => {
    const where = route.screen === "home" ? "" : `${routeTitle(route.screen)} · `;
    document.title = `${questions.length > 0 ? `(${questions.length}) ` : ""}${where}Agiraph`;
  }, [questions.length, route.screen]);
}

function routeTitle(screen: string): string {
  return screen === "entity" ? "Talk" : screen.charAt(0).toUpperCase() + screen.slice(1);
}

function announce(item: InboxItem): void {
  const openIt = () => go({ screen: "entity", agent: item.agent.id, worker: item.from.id }, { at: null });
  if (document.hidden && typeof Notification !== "undefined" && Notification.permission === "granted") {
    const note = new Notification(`${item.from.name} asks`, { body: item.text, tag: keyOf(item) });
    note.onclick = () => {
      window.focus();
      openIt();
    };
  }
  if (!isInSight(item)) toast("wait", `${item.from.name} asks: ${item.text}`, { label: "Answer", run: openIt });
}

function isInSight({ agent, from }: InboxItem): boolean {
  const route = routeNow();
  return !document.hidden && route.screen === "entity" && route.agent === agent.id && route.worker === from.id;
}

function keyOf({ agent, id }: InboxItem): string {
  return `${agent.id} ${id}`;
}
