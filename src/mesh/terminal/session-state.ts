/** `broken`: it died at once, time and again, and rests until somebody begins it. */
export type SessionState = "starting" | "ready" | "busy" | "dialog" | "idle" | "dead" | "gone" | "broken";
