/**
 * Reads the results of tools back from their text, since a model has nothing else. Anything unexpected is ignored
 * rather than guessed.
 */
export interface ListedEntry {
  path: string;
  kind: "file" | "folder" | "other";
  bytes: number;
}

export interface FolderText {
  entries: ListedEntry[];
  /** The tool shows only so many. */
  cut: boolean;
}

export function readListing(content: string): FolderText {
  const entries = content.split("\n").flatMap((line): ListedEntry[] => {
    if (line.endsWith("/")) return [{ path: line.slice(0, -1), kind: "folder", bytes: 0 }];
    const file = /^(.+) \((\d+) bytes\)$/.exec(line);
    if (file?.[1]) return [{ path: file[1], kind: "file", bytes: Number(file[2]) }];
    const other = /^(.+) \((?:a link, not followed|not a regular file)\)$/.exec(line);
    return other?.[1] ? [{ path: other[1], kind: "other", bytes: 0 }] : [];
  });
  return { entries, cut: /\n\n\[Only \d+ entries are shown;[^\n]*\]$/.test(content) };
}

export interface FileText {
  text: string;
  /** Lines in the whole file, as far as it was counted. */
  lines: number;
  /** All of it is in `text`, with no line cut. */
  whole: boolean;
  /** Where to go on reading, if there is more. */
  next: { path: string; offset: number } | undefined;
}

export function readText(content: string): FileText {
  const note =
    /\n\n\[Lines (\d+) to (\d+) of (?:more than )?(\d+) in ([^\n]+?)\.(?: Go on with offset (\d+)\.)?\]$/.exec(content);
  const text = (note ? content.slice(0, note.index) : content).replace(/^\d+\t/gm, "");
  const hasCutLine = /… \(\d+ more characters in this line\)$/m.test(text);
  const path = note?.[4];
  return {
    text,
    lines: note ? Number(note[3]) : text.split("\n").length,
    whole: !note && !hasCutLine,
    next: path && note[5] ? { path, offset: Number(note[5]) } : undefined,
  };
}

/** The node that a `create_work_node` call created. */
export function createdNode(content: string): string | undefined {
  return /^Created (node-\d+)\b/.exec(content)?.[1];
}

/** After a crash it is not known whether the call had its effect. */
export function isUnknownOutcome(content: string): boolean {
  return content.startsWith("Outcome unknown");
}

/** The call was postponed so that a message is heard first: it can be made again as if it had never been made. */
export function isPostponed(content: string): boolean {
  return content.startsWith("Not run: a message came first");
}

/** How a node ended, according to the news or the board. */
export type Ending = { kind: "completed"; files: string[] } | { kind: "failed"; why: string };

export function endingsIn(news: string): Map<string, Ending> {
  const endings = new Map<string, Ending>();
  for (const item of news.split(/\n\n(?=node-\d+ |\[Message)/)) {
    const completed = /^(node-\d+) completed by /.exec(item);
    if (completed?.[1]) {
      const list = /\nPublished: ([^\n]+)$/.exec(item)?.[1] ?? "";
      endings.set(completed[1], { kind: "completed", files: list.split(", ").filter(Boolean) });
    }
    const failed = /^(node-\d+) failed: ([\s\S]*?)(?: (?:Its unfinished files are|What was done is) in [\s\S]*)?$/.exec(
      item,
    );
    if (failed?.[1]) endings.set(failed[1], { kind: "failed", why: (failed[2] ?? "").trim().replace(/\.{2,}$/, ".") });
  }
  // After a stop the whole board is told at once.
  for (const [, id = "", status] of news.matchAll(/^- (node-\d+) \[(completed|failed)\]/gm)) {
    if (endings.has(id)) continue;
    endings.set(
      id,
      status === "completed" ? { kind: "completed", files: [] } : { kind: "failed", why: "the board says so" },
    );
  }
  return endings;
}

/** The human's messages among the news. */
export function humanMessagesIn(news: string): string[] {
  return [
    ...news.matchAll(
      /(?:^|\n\n)\[(?:Message|A hint) from your human[^\]]*\]: ([\s\S]*?)(?=\n\n(?:node-\d+ |\[Message)|$(?![\s\S]))/g,
    ),
  ].flatMap(([, text]) => text?.trim() || []);
}
