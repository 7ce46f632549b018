import { callsOf, type Entry, textOf } from "../../protocol/index.ts";
import { abridged } from "./trimming.ts";

/** A part of a summary. */
export interface SummarySection {
  title: string;
  text: string;
  /** Which part stays if there is no room for all; its beginning if left out. */
  keep?: "end";
}

const HEAD =
  "Your conversation was compacted: what was said before is kept in the archive and no longer shown, but for your last " +
  "steps, which follow if there was room. This is how things stand now, from the record and your files. What is done " +
  "here is done; do not do it again. Read a file when you need more of it than is shown.";

/**
 * The sections within so many bytes. What is short is whole; what is left is shared equally by the long ones, so that
 * no section can crowd out another.
 */
export function boundedSummary(sections: readonly SummarySection[], bytes: number): string {
  const told = sections.filter(({ text }) => text.trim() !== "");
  const shares = new Map<SummarySection, number>();
  let left = bytes - HEAD.length - told.reduce((sum, { title }) => sum + title.length + 8, 0);
  const bySize = told.toSorted((a, b) => Buffer.byteLength(a.text) - Buffer.byteLength(b.text));
  bySize.forEach((section, at) => {
    const share = Math.min(Buffer.byteLength(section.text), Math.max(0, Math.floor(left / (bySize.length - at))));
    shares.set(section, share);
    left -= share;
  });
  const parts = told.map((section) => `## ${section.title}\n\n${clipped(section, shares.get(section) ?? 0)}`);
  return [HEAD, ...parts].join("\n\n");
}

const NOTE = "(cut here to make room)";

/** At the end of a line where there is one. */
function clipped({ text, keep }: SummarySection, bytes: number): string {
  const whole = Buffer.from(text);
  if (whole.length <= bytes) return text.trim();
  const room = Math.max(0, bytes - NOTE.length - 1);
  if (keep === "end") {
    const tail = whole
      .subarray(whole.length - room)
      .toString("utf8")
      .replace(/^\uFFFD+/, "");
    const line = tail.indexOf("\n");
    return `${NOTE}\n${(line >= 0 && line < tail.length / 2 ? tail.slice(line + 1) : tail).trim()}`;
  }
  const head = whole
    .subarray(0, room)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  const line = head.lastIndexOf("\n");
  return `${(line > head.length / 2 ? head.slice(0, line) : head).trim()}\n${NOTE}`;
}

/** What the model wrote while it saved its notes. */
export function notesIn(flush: readonly Entry[]): string {
  return flush.flatMap((entry) => (entry.role === "assistant" ? textOf(entry).trim() || [] : [])).join("\n\n");
}

const LONGEST_REPLY = 2000;

/** The last reply and what came after it, as far as it is too long to be kept whole: it has no answer yet. */
export function lastReply(shown: readonly Entry[], keptFrom: number): string {
  const from = Math.max(
    0,
    shown.findLastIndex((entry) => entry.role === "assistant"),
  );
  return shown
    .slice(from, keptFrom)
    .flatMap((entry) => {
      switch (entry.role) {
        case "assistant": {
          const calls = callsOf(entry).map(
            (call) => `You called ${call.name}: ${abridged(JSON.stringify(call.args), 400)}`,
          );
          return [textOf(entry).trim(), ...calls].filter((line) => line !== "").join("\n");
        }
        case "tool":
          return `${entry.tool} ${entry.ok ? "gave" : "failed"}: ${abridged(entry.content, LONGEST_REPLY)}`;
        case "user":
          return `${entry.from} said: ${abridged(entry.content, LONGEST_REPLY)}`;
        default:
          return [];
      }
    })
    .join("\n\n");
}
