import { join } from "node:path";
import { type Disk, readWhole } from "../disk/disk.ts";
import { journalDir } from "../paths.ts";
import type { Damage } from "./damage.ts";
import { type JournalFrame, nextMagic, readFrame, type Segment } from "./frame.ts";
import type { OpenFiles } from "./open-files.ts";

/**
 * Brings the plain files up to date with the journals, after a crash.
 *
 * RECOVERY-0. The journals are synced first: a write that was in progress when the process died may be visible but not
 *     on disk, and half of it in the files would outlive it.
 * RECOVERY-1. Every complete frame is written again, even if its bytes seem to be there: what is visible may not be on
 *     disk.
 * RECOVERY-2. Journals are removed only when everything in them is synced; then the removal is synced, so none comes
 *     back later.
 * RECOVERY-3. Repeating it, even after dying half-way, gives the same files.
 * RECOVERY-4. An incomplete frame is kept and reported; what comes after it still counts.
 */
export async function recover(
  disk: Disk,
  root: string,
  files: OpenFiles,
  damage: Damage,
): Promise<{ nextNumber: number }> {
  const names = journalNames(disk, root);
  const orphans = new Map<string, { offset: number; bytes: Buffer[] }>();
  let nextNumber = 1;
  for (const name of names) {
    await syncFile(disk, join(journalDir(root), name));
    const journal = withoutRoom(readWhole(disk, join(journalDir(root), name)) ?? Buffer.alloc(0));
    for (const found of scanJournal(journal)) {
      if (found.kind === "frame") {
        nextNumber = found.frame.number + 1;
        for (const segment of found.frame.segments) replay(disk, root, files, segment, orphans);
      } else {
        const what =
          found.to === journal.length
            ? "the last write was not finished; nothing of it had been acknowledged"
            : "a write was damaged; what followed it was kept";
        damage.setAside(`journal/${name}`, found.from, journal.subarray(found.from, found.to), what);
      }
    }
  }
  for (const [path, { offset, bytes }] of orphans) {
    damage.setAside(
      path,
      offset,
      Buffer.concat(bytes),
      "the file was shorter than the journal knew it; these records had no place",
    );
  }
  await files.sync(files.takeUnsynced(), 4);
  for (const name of names) disk.remove(join(journalDir(root), name));
  if (names.length > 0) await disk.syncDir(journalDir(root));
  return { nextNumber };
}

export function journalName(firstNumber: number): string {
  return `${String(firstNumber).padStart(12, "0")}.journal`;
}

/** Oldest first. */
function journalNames(disk: Disk, root: string): string[] {
  return disk
    .list(journalDir(root))
    .filter((name) => name.endsWith(".journal"))
    .sort();
}

async function syncFile(disk: Disk, path: string): Promise<void> {
  const file = disk.open(path, "write");
  try {
    await file.sync();
  } finally {
    file.close();
  }
}

/** A journal ends with reserved space: zeros, with which no frame ends. */
export function withoutRoom(journal: Buffer): Buffer {
  let end = journal.length;
  while (end >= ZEROS.length && ZEROS.compare(journal, end - ZEROS.length, end) === 0) end -= ZEROS.length;
  while (end > 0 && journal[end - 1] === 0) end--;
  return journal.subarray(0, end);
}

const ZEROS = Buffer.alloc(4096);

type ScannedFrame = { kind: "frame"; frame: JournalFrame } | { kind: "unreadable"; from: number; to: number };

export function* scanJournal(journal: Buffer): Generator<ScannedFrame> {
  let last = 0;
  for (let at = 0; at < journal.length; ) {
    const frame = readFrame(journal, at);
    // Numbers only grow: an older frame is a leftover of a write that was taken back.
    if (frame !== undefined && frame.number > last) {
      yield { kind: "frame", frame };
      last = frame.number;
      at = frame.end;
      continue;
    }
    const from = at;
    do at = nextMagic(journal, at + 1);
    while (at < journal.length && (readFrame(journal, at)?.number ?? 0) <= last);
    yield { kind: "unreadable", from, to: at };
  }
}

function replay(
  disk: Disk,
  root: string,
  files: OpenFiles,
  { path, offset, bytes }: Segment,
  orphans: Map<string, { offset: number; bytes: Buffer[] }>,
): void {
  const size = disk.size(join(root, path)) ?? 0;
  if (size < offset) {
    const orphan = orphans.get(path) ?? { offset, bytes: [] };
    orphan.bytes.push(bytes);
    orphans.set(path, orphan);
    return;
  }
  files.write(path, bytes, offset);
  files.distrust(path);
}
