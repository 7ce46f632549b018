import { plain, plainLines } from "./width.ts";

/** One line of what a person sees happen: who, the mark, the text. */
export interface StoryLine {
  who: string;
  mark: "says" | "tells" | "asks" | "to_you" | "done" | "failed" | "begins" | "new" | "leaves" | "stage" | "warning";
  text: string;
}

export function line(who: string, mark: StoryLine["mark"], text: string): StoryLine {
  // Indentation tells something in what is said; elsewhere it is only noise.
  return { who, mark, text: mark === "says" || mark === "tells" ? plainLines(text).join(" ").trimEnd() : plain(text) };
}
