export interface Span {
  from: number;
  to: number;
}

/** Which part of a line differs from its counterpart; null where nearly all of it does, or nothing. */
export function wordChange(text: string, other: string): Span | null {
  const most = Math.min(text.length, other.length);
  let head = 0;
  while (head < most && text[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && text.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  // Words, not halves of them.
  while (head > 0 && isWordAt(text, head - 1) && (isWordAt(text, head) || isWordAt(other, head))) head -= 1;
  while (tail > 0 && isWordAt(text, text.length - tail) && isWithinWord(text, other, tail)) tail -= 1;
  const kept = text.slice(0, head).trim().length + text.slice(text.length - tail).trim().length;
  if (kept < LEAST_KEPT * Math.max(text.trim().length, other.trim().length)) return null;
  return head === text.length - tail ? null : { from: head, to: text.length - tail };
}

/** Lines that share less than this have nothing to do with each other. */
const LEAST_KEPT = 0.3;

function isWithinWord(text: string, other: string, tail: number): boolean {
  return isWordAt(text, text.length - tail - 1) || isWordAt(other, other.length - tail - 1);
}

function isWordAt(text: string, at: number): boolean {
  return /[\p{L}\p{N}\p{Cs}_]/u.test(text[at] ?? "");
}
