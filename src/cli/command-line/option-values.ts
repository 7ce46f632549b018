import { InvalidArgumentError } from "commander";
import { didYouMean } from "../../boundary/nearest.ts";
import { DURATION_HELP, secondsIn } from "../../protocol/duration.ts";

// How the values of options are read. An unusable value is refused with what it should be.

export function oneOf(choices: readonly string[]): (text: string) => string {
  return (text) => {
    if (choices.includes(text)) return text;
    throw new InvalidArgumentError(`${didYouMean(text, choices).trim()} Choose from: ${choices.join(", ")}.`.trim());
  };
}

export function dollars(text: string): number {
  const value = Number(text.replace(/^\$/, ""));
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError("Expected an amount above 0, e.g. 2.50.");
  return value;
}

/** A name that can be used for the agent afterwards: `agiraph show NAME`. */
export function agentName(text: string): string {
  const name = text.trim();
  if (name === "" || name.length > 80 || name.startsWith("-") || /[\p{Cc}\p{Cs}]/u.test(name))
    throw new InvalidArgumentError("Expected one line of up to 80 characters that does not begin with a dash.");
  if (/^agent-[a-z0-9]{4,32}$/.test(name))
    throw new InvalidArgumentError("This looks like the id of an agent. Choose another name.");
  return name;
}

export function durationOption(text: string): number {
  const seconds = secondsIn(text);
  if (seconds === undefined) throw new InvalidArgumentError(DURATION_HELP);
  return seconds;
}

export function list(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
}

/** In seconds. A time without a zone is local time. */
export function since(text: string): number {
  if (/^\d+[smhd]$/.test(text)) return Date.now() / 1000 - durationOption(text);
  const at = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw new InvalidArgumentError("Expected how long ago (10m, 2h) or a time (2026-05-01T09:00).");
  return at / 1000;
}

export function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError("Expected a port, e.g. 4747.");
  return Number(text);
}

export function tokenCount(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("Expected a number of tokens, e.g. 2000000.");
  return Number(text);
}

export function factNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("Expected a whole number, e.g. 120.");
  return Number(text);
}
