// Types alone: for each of these the tests have a scene (test/browser/screens.ts).

/** The state of the page as a whole. */
export type PageState = "loading" | "ready" | "locked" | "unreachable";

/** What is shown over the page: one thing at a time, and toasts. */
export type Overlay = "none" | "palette" | "shortcuts" | "new_agent" | "more_money" | "sidebar";

export interface Toast {
  key: number;
  tone: "plain" | "wait" | "bad";
  text: string;
  /** What it is about: once that is over, so is the toast. */
  about: string | null;
  action?: { label: string; run: () => void };
}
