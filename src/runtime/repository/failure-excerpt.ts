/**
 * What a failed command printed, short enough to be read: its end, and before it what says that something failed. Many
 * test runners say it in the middle, and end with numbers.
 */
export function failureExcerpt(output: string): string {
  if (output.length <= MOST) return output;
  const tail = output.slice(-TAIL);
  const before = output.slice(0, -TAIL).split("\n");
  const shown: string[] = [];
  let room = MOST - TAIL;
  let last = -1;
  for (let at = 0; at < before.length; at++) {
    if (!SAYS_SO.test(before[at] ?? "")) continue;
    const from = Math.max(last + 1, at);
    const lines = before.slice(from, at + 1 + AFTER).map((line) => line.slice(0, LONGEST_LINE));
    const text = [...(from > last + 1 ? ["…"] : []), ...lines].join("\n");
    if (text.length > room) break;
    room -= text.length + 1;
    shown.push(text);
    last = at + AFTER;
  }
  return [...shown, `…${tail}`].join("\n");
}

const MOST = 8000;
const TAIL = 4000;
const AFTER = 6;
const LONGEST_LINE = 300;
const SAYS_SO =
  /^\s*(?:not ok\b|[✖✗✘×●] |FAIL(?:ED|URE)?\b|ERROR\b|--- FAIL|E {2,}|error(?:\[\w+\])?: )|\b(?:\w*AssertionError|panicked at|Traceback \(most recent)/;
