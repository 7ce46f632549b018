import { useSyncExternalStore } from "react";
import type { Overlay, Toast } from "./shown.ts";

let overlay: Overlay = "none";
let toasts: readonly Toast[] = [];
let made = 0;
const listeners = new Set<() => void>();

export function openOverlay(next: Overlay): void {
  overlay = next;
  tell();
}

export const closeOverlay = (): void => openOverlay("none");

const SHOWN_MS = 8000;

export function toast(tone: Toast["tone"], text: string, action?: Toast["action"], about: string | null = null): void {
  made += 1;
  const key = made;
  toasts = [...toasts.slice(-3), { key, tone, text, about, ...(action && { action }) }];
  tell();
  // What needs an answer stays until it is looked at.
  if (tone !== "wait") setTimeout(() => dismiss(key), SHOWN_MS);
}

/** Shows an error, in the server's words. */
export function complain(error: unknown): void {
  toast("bad", error instanceof Error ? error.message : String(error));
}

export function dismiss(key: number): void {
  toasts = toasts.filter((each) => each.key !== key);
  tell();
}

/** Removes the toasts about what is settled. */
export function settleToasts(isOpen: (about: string) => boolean): void {
  const left = toasts.filter(({ about }) => about === null || isOpen(about));
  if (left.length === toasts.length) return;
  toasts = left;
  tell();
}

export function useOverlay(): Overlay {
  return useSyncExternalStore(subscribe, () => overlay);
}

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(subscribe, () => toasts);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
