import type { Paint } from "./paint.ts";
import type { StoryLine } from "./story.ts";
import { cutToWidth, pad, wrap } from "./width.ts";

/**
 * A line of the story in the scrollback. Words of people and models are wrapped, never cut; everything else is cut. A
 * path or address that is too wide for a line stays whole, to be copied.
 */
export function storyText({ who, mark, text }: StoryLine, columns: number | undefined, paint: Paint): string[] {
  const { sign, colour } = SIGNS[mark];
  const name = pad(cutToWidth(who, NAME_COLUMNS), NAME_COLUMNS);
  if (columns === undefined) return [`${name} ${sign} ${text}`];
  const room = Math.max(10, columns - NAME_COLUMNS - 3);
  const [first = "", ...rest] = WORDS.has(mark) ? wrap(text, room, "whole") : [cutToWidth(text, room)];
  const indent = " ".repeat(NAME_COLUMNS + 3);
  // What is for the reader stands out.
  const tone = mark === "asks" || mark === "to_you" ? paint.bold : String;
  return [`${paint.cyan(name)} ${paint[colour](sign)} ${tone(first)}`, ...rest.map((more) => indent + tone(more))];
}

const NAME_COLUMNS = 11;

const WORDS = new Set<StoryLine["mark"]>(["says", "tells", "asks", "to_you"]);

const SIGNS = {
  says: { sign: "│", colour: "dim" },
  tells: { sign: "→", colour: "magenta" },
  asks: { sign: "?", colour: "yellow" },
  to_you: { sign: "»", colour: "yellow" },
  done: { sign: "✓", colour: "green" },
  failed: { sign: "✗", colour: "red" },
  begins: { sign: "▸", colour: "blue" },
  new: { sign: "+", colour: "blue" },
  leaves: { sign: "-", colour: "dim" },
  stage: { sign: "═", colour: "yellow" },
  warning: { sign: "!", colour: "yellow" },
} as const;
