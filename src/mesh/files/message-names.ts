import { createHash } from "node:crypto";
import type { MessageHeader } from "../../protocol/index.ts";

/** The sender of tasks that come from a board: neither a person nor a mesh. */
export const BOARD = "agiraph";

/** `YYMMDDHHMM-0001-words-of-the-task.md`: the seed's pattern plus a counter, since two may come in one minute. */
export function fileNameOf(at: Date, counter: number, title: string): string {
  return `${stampOf(at)}-${String(counter).padStart(4, "0")}-${sanitized(title)}.md`;
}

/** `YYMMDDHHMM`, in local time, since people read it. */
export function stampOf(at: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  return [at.getFullYear() % 100, at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes()].map(two).join("");
}

export function sanitized(title: string): string {
  const plain = title
    .slice(0, 500)
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 50)
    .replace(/-+$/, "");
  return plain || "message";
}

/**
 * What follows from a message is named after it. If it has to be created again after a crash, it is found by its name,
 * in whichever queue it is by then.
 */
export function derivedName(name: string, suffix: string): string {
  const stem = stemOf(name);
  return `${Buffer.byteLength(stem) <= 120 ? stem : shortened(stem, 120)}.${suffix}.md`;
}

/** A name with this ending, short enough for a file system, which counts bytes. */
export function fitting(stem: string, ending: string, bytes = 255): string {
  const room = bytes - Buffer.byteLength(ending);
  return `${Buffer.byteLength(stem) <= room ? stem : shortened(stem, room)}${ending}`;
}

function shortened(stem: string, bytes: number): string {
  return `${headOf(stem, bytes - 20)}-${hash(stem)}`;
}

/** Whether this is a step of a mesh's task, made by the mesh. Decided by the name, since a header can be copied. */
export function isStep({ name, header: { task, step } }: { name: string; header: MessageHeader }): boolean {
  return task !== undefined && step !== undefined && name === derivedName(`${task}.md`, step);
}

/** Whether a name that somebody else chose looks like one of ours. */
export function looksLikeStep(name: string): boolean {
  return /\.(?:(?:\d+|entry|completion)(?:-r\d+)?|fix-\d+)\.md$/.test(name);
}

export function stemOf(name: string): string {
  return name.replace(/\.md$/, "");
}

/** Any name as a `msg-id`. */
export function asMessageId(stem: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/.test(stem) ? stem : `${sanitized(stem)}-${hash(stem)}`;
}

/** The first bytes of a text, whole characters only. */
export function headOf(text: string, bytes: number): string {
  return Buffer.from(text)
    .subarray(0, Math.max(0, bytes))
    .toString("utf8")
    .replace(/\uFFFD{1,3}$/, "");
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
