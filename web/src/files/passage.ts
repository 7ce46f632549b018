import { gist } from "../text/figures.ts";

/** What a section of the memory says, in plain words: its own heading stands above it already. */
export function passage({ headings, text }: { headings: readonly string[]; text: string }): string {
  const lines = text.split("\n").map((line) => ({ words: gist(line), isHeading: /^\s*#{1,6}\s/.test(line) }));
  const isTitle = ({ words, isHeading }: { words: string; isHeading: boolean }) =>
    isHeading && words === gist(headings.at(-1) ?? "");
  return lines
    .filter((line) => line.words !== "" && !isTitle(line))
    .map(({ words }) => words)
    .join(" ");
}
