import { Help } from "commander";
import { wrap } from "../wording/width.ts";

/** What is printed before, between and after a term and its description. */
const BESIDE = 4;
const BELOW = " ".repeat(6);

/** A description is beside its term; where the terminal is too narrow for that, below it, and no word is broken. */
export function helpItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
  const width = this.helpWidth ?? 80;
  if (description === "" || width - termWidth - BESIDE >= this.minWidthToWrap)
    return Help.prototype.formatItem.call(this, term, termWidth, description, helper);
  const below = wrap(description, width - BELOW.length, "whole").map((line) => BELOW + line);
  return [`  ${term}`, ...below].join("\n");
}
