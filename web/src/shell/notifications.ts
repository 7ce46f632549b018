import { useEffect, useRef } from "react";
import { HUMAN } from "../../../src/protocol/index.ts";
import { agents } from "../live/agents.ts";
import type { InboxItem } from "../live/api.ts";
import { useAgents } from "../live/use-live.ts";
import { needsPerson, pagePlaceOf } from "../sidebar/needs-you.tsx";
import { gist } from "../text/figures.ts";
import { isInSight } from "./in-sight.ts";
import { settleToasts, toast } from "./overlay.ts";
import { go, routeNow, useRoute } from "./route.ts";

/**
 * Notifies the person of new questions where they are: by a toast, in the title, by the browser if the tab is hidden.
 */
export function useNotifications(): void {
  const { list, inbox, state, hasInbox } = useAgents();
  const route = useRoute();
  const known = useRef<Set<string> | null>(null);
  const waiting = inbox.filter(needsPerson).length;

  useEffect(() => {
    if (state !== "ready" || !hasInbox) return;
    const asked = inbox.filter(({ kind }) => kind === "question");
    const before = known.current;
    known.current = new Set(asked.map(keyOf));
    // What was open when the page came is in the sidebar already.
    if (before === null) return;
    const fresh = asked.filter((item) => !before.has(keyOf(item)));
    // A flood of them is one thing to be told.
    if (fresh.length > MOST_AT_ONCE) announceMany(fresh.length);
    else for (const item of fresh) announce(item);
  }, [inbox, state, hasInbox]);

  // What was answered, here or elsewhere, needs no toast any more.
  useEffect(() => {
    const open = new Set(inbox.map(keyOf));
    if (inbox.some(({ kind }) => kind === "question")) open.add(MANY);
    settleToasts((about) => open.has(about));
  }, [inbox]);

  // Neither does what one goes to.
  useEffect(() => {
    const here = agents.inbox.filter(isOfScreen).map(keyOf);
    if (route.screen === "entity") settleToasts((about) => !here.includes(about));
  }, [route]);

  useEffect(() => {
    const name = "agent" in route ? list.find(({ id }) => id === route.agent)?.name : undefined;
    const isPlain = route.screen === "home" || route.screen === "entity";
    const screen = isPlain ? [] : [route.screen === "mesh" ? route.mesh : titled(route.screen)];
    const where = [...screen, ...(name ? [name] : []), "Agiraph"].join(" · ");
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${where}`;
  }, [waiting, route, list]);
}

const MOST_AT_ONCE = 4;
const MANY = "many";

function announceMany(number: number): void {
  const words = `${number} questions are waiting for you`;
  notify(words, "", MANY, () => go({ screen: "home" }));
  toast("wait", `${words}.`, { label: "Show", run: () => go({ screen: "home" }) }, MANY);
}

function notify(title: string, body: string, tag: string, openIt: () => void): void {
  if (!document.hidden || typeof Notification === "undefined" || Notification.permission !== "granted") return;
  const note = new Notification(title, { body, tag });
  note.onclick = () => {
    window.focus();
    openIt();
  };
}

function titled(screen: string): string {
  return screen.charAt(0).toUpperCase() + screen.slice(1);
}

function announce(item: InboxItem): void {
  const openIt = () => go(pagePlaceOf(item), { at: null });
  notify(titleOf(item), textOf(item).slice(0, 300), keyOf(item), openIt);
  if (isBefore(item)) return;
  const answer = () => {
    openIt();
    // A person who was there already had scrolled away from it; questions are asked at the end.
    document.querySelector<HTMLElement>("[data-newest]")?.click();
  };
  toast("wait", toastOf(item), { label: item.mesh_trust ? "View" : "Answer", run: answer }, keyOf(item));
}

/** What a person's own work and a permission request say, they say of themselves: no name is put in front. */
function toastOf(item: InboxItem): string {
  if (item.from.id === HUMAN) return gist(item.text);
  const text = textOf(item).slice(0, 600);
  return item.permission ? text : `${titleOf(item)}: ${text}`;
}

/** The bars before what a program wrote are drawn as boxes on its card. */
function textOf({ text, permission }: InboxItem): string {
  return permission ? text.replace(/^│ ?/gm, "") : text;
}

/** A node of one's own is nobody's question: its words say what it is. */
function titleOf({ agent, from }: InboxItem): string {
  return from.id === HUMAN ? agent.name : `${from.name} asks`;
}

/** Whether the card itself is before the person's eyes. */
function isBefore(item: InboxItem): boolean {
  if (document.hidden || !isOfScreen(item)) return false;
  const card = document.querySelector(`[data-question="${CSS.escape(item.id)}"]`);
  return card !== null && isInSight(card);
}

function isOfScreen({ agent, from }: InboxItem): boolean {
  const route = routeNow();
  return route.screen === "entity" && route.agent === agent.id && route.worker === from.id;
}

function keyOf({ agent, id }: InboxItem): string {
  return `${agent.id} ${id}`;
}
