import type { ColouredToken } from "../files/highlight.ts";
import type { Span } from "./word-change.ts";

export interface Piece {
  text: string;
  /** As it is in the light theme and in the dark one. */
  colour: string | null;
  isChanged: boolean;
}

/** A line in pieces of one style each: by its colours, and by the part that changed. */
export function linePieces(text: string, tokens: readonly ColouredToken[] | undefined, changed: Span | null): Piece[] {
  const coloured = tokens?.map(({ content }) => content).join("") === text ? tokens : undefined;
  const parts = coloured?.map(({ content, light, dark }) => ({ text: content, colour: colourOf(light, dark) }));
  const pieces: Piece[] = [];
  let from = 0;
  for (const part of parts ?? [{ text, colour: null }]) {
    const end = from + part.text.length;
    const cuts = changed ? [changed.from, changed.to].filter((at) => at > from && at < end) : [];
    let begin = from;
    for (const cut of [...cuts, end]) {
      const isChanged = changed !== null && begin >= changed.from && cut <= changed.to && cut > begin;
      if (cut > begin) pieces.push({ text: text.slice(begin, cut), colour: part.colour, isChanged });
      begin = cut;
    }
    from = end;
  }
  return pieces;
}

/** The theme's faintest colours cannot be read on green and red: these can. */
const STRONGER: Readonly<Record<string, string>> = {
  "#6e7781": "#57606a",
  "#cf222e": "#b31d28",
  "#8250df": "#6639ba",
  "#8b949e": "#a5adb6",
  "#ff7b72": "#ff938b",
};

function colourOf(light: string, dark: string): string | null {
  if (light === "currentColor") return null;
  return `light-dark(${stronger(light)}, ${stronger(dark)})`;
}

function stronger(colour: string): string {
  const known = colour.toLowerCase();
  return Object.hasOwn(STRONGER, known) ? (STRONGER[known] ?? colour) : colour;
}
