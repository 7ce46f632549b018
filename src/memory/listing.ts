import type { MemoryFiles, StampedFile } from "../store/run/memory-files.ts";

/** What is above this line belongs to the agent; what is below is rewritten after every write. */
const LINE = "<!-- Below this line Agiraph lists what is stored. Write above it. -->";
const MOST_LISTED = 500;
const DAILY_LOG = /^(\d{4}-\d{2}-\d{2})\.md$/;

export function ownPart(index: string): string {
  return (index.split(LINE, 1)[0] ?? "").trimEnd();
}

/** `index.md` as it should be: what its owner wrote, and the list of stored files. */
export async function withListing(memory: MemoryFiles, index: string): Promise<string> {
  const own = ownPart(index);
  const files = (await memory.list()).filter(({ path, bytes }) => path !== "index.md" && bytes > 0);
  const logs = files.flatMap(({ path }) => DAILY_LOG.exec(path)?.[1] ?? []);
  const others = files.filter(({ path }) => !DAILY_LOG.test(path));
  const lines = await Promise.all(others.slice(0, MOST_LISTED).map((file) => lineOf(memory, file)));
  if (others.length > MOST_LISTED) lines.push(`- and ${others.length - MOST_LISTED} more files`);
  if (logs.length > 0) lines.push(`${LOGS}${logs.length}, from ${logs[0]} to ${logs.at(-1)}`);
  return `${own ? `${own}\n\n` : ""}${LINE}\n\n${lines.join("\n") || NOTHING}\n`;
}

/** `index.md` for somebody who is shown some of the files beside it; `null` stands for the daily logs, all of them. */
export function listingBut(isShown: (path: string | null) => boolean, index: string): string {
  const [own = "", list] = index.split(LINE, 2);
  if (list === undefined) return index;
  const lines = list.trim().split("\n");
  const others = lines.filter((line) => {
    if (line.startsWith(LOGS)) return !isShown(null);
    const [, path] = LISTED.exec(line) ?? [];
    return line !== NOTHING && (path === undefined || !isShown(path));
  });
  return [own.trim(), others.join("\n")].filter(Boolean).join("\n\n");
}

const LOGS = "- daily logs (YYYY-MM-DD.md): ";
const LISTED = /^- (.+?) \(\d+ bytes\)/;
const NOTHING = "Nothing yet.";

async function lineOf(memory: MemoryFiles, { path, bytes, stamp }: StampedFile): Promise<string> {
  const beginnings = knownOf(memory);
  const before = beginnings.get(path);
  const about = before?.stamp === stamp ? before.about : await firstWords(memory, path);
  beginnings.set(path, { stamp, about });
  return `- ${path} (${bytes} bytes)${about ? `: ${about}` : ""}`;
}

/** What files begin with, as long as they are not changed: reading all of them again made each write slower. */
const known = new WeakMap<MemoryFiles, Map<string, { stamp: string; about: string }>>();

function knownOf(memory: MemoryFiles): Map<string, { stamp: string; about: string }> {
  const files = known.get(memory) ?? new Map<string, { stamp: string; about: string }>();
  known.set(memory, files);
  return files;
}

/** A file's first heading or line. */
async function firstWords(memory: MemoryFiles, path: string): Promise<string> {
  try {
    const { bytes } = await memory.scope.readFile(path, { maxBytes: 512 });
    const line =
      bytes
        .toString("utf8")
        .split("\n")
        .find((each) => each.trim() !== "") ?? "";
    const words = line
      .replace(/^#+\s*/, "")
      .replaceAll("\uFFFD", "")
      .trim();
    return words.length > 80 ? `${words.slice(0, 79)}…` : words;
  } catch {
    return ""; // it has just gone, or may not be opened: its name says enough
  }
}
