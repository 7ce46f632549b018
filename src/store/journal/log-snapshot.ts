import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../disk/atomic-file.ts";
import { type Disk, type DiskFile, readWhole } from "../disk/disk.ts";
import { StoreUsageError } from "../errors.ts";
import { decodeLine, lineBytes, RECORD_VERSION, recordHead } from "./line.ts";
import { seekSeq } from "./stream.ts";

/**
 * The disposable result of a fold, so that opening an agent reads only what is new.
 *
 * SNAPSHOT-1. It names its last fact by number, position and checksum: if the log was cut or damaged there since, they
 *     do not match, and the snapshot is ignored.
 * SNAPSHOT-2. If it is missing, damaged or of another version, it is undefined. It is never repaired and never an
 *     error.
 */
export interface FactPosition {
  seq: number;
  offset: number;
  crc: string;
}

/** The agent and the fold of a snapshot. */
export interface LogSnapshotFile {
  disk: Disk;
  agentFolder: string;
  /** Of the fold. */
  name: string;
  version: number;
}

export function saveLogSnapshot(snapshot: LogSnapshotFile, position: FactPosition, state: unknown): void {
  const { disk, agentFolder, version } = snapshot;
  const path = snapshotPath(snapshot);
  disk.makeDir(join(agentFolder, "snapshots"));
  replaceFile(
    path,
    lineBytes(recordHead(position.seq, { version, offset: position.offset, mark: position.crc, state })),
    disk,
  );
}

export function loadLogSnapshot(snapshot: LogSnapshotFile): { position: FactPosition; state: unknown } | undefined {
  const bytes = readWhole(snapshot.disk, snapshotPath(snapshot));
  const line = bytes && decodeLine(bytes, 0, bytes.length - 1);
  if (line === undefined || line.version !== RECORD_VERSION) return undefined;
  const { data } = snapshotSchema.safeParse(JSON.parse(line.json));
  if (data === undefined || data.version !== snapshot.version) return undefined;
  return { position: { seq: line.seq, offset: data.offset, crc: data.mark }, state: data.state };
}

/**
 * How many bytes a fold has to read to reach the end of a log of this size: the snapshot and what comes after it, or the
 * whole log. An estimate from the snapshot's first bytes; whether it is intact and fits the log is not checked.
 */
export function bytesToRead(snapshot: LogSnapshotFile, logSize: number): number {
  const { disk, version } = snapshot;
  const path = snapshotPath(snapshot);
  const snapshotSize = disk.size(path);
  if (snapshotSize === undefined) return logSize;
  const file = disk.open(path, "read");
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const [, of, offset] = HEAD.exec(head.toString("latin1", 0, file.readNow(head, 0))) ?? [];
    if (of === undefined || Number(of) !== version || Number(offset) > logSize) return logSize;
    return snapshotSize + logSize - Number(offset);
  } finally {
    file.close();
  }
}

const HEAD_BYTES = 128;
const HEAD = /^\{"seq":\d{1,16},"version":(\d{1,9}),"offset":(\d{1,16}),/;

/** Where a fact is in its log, or undefined if it is not there. `offset` saves the search if it is known. */
export function factPosition(file: DiskFile, size: number, seq: number, offset?: number): FactPosition | undefined {
  let found: FactPosition | undefined;
  for (let at = offset ?? seekSeq(file, size, seq), window = 16 * 1024; at < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(window, size - at));
    const filled = file.readNow(buffer, at);
    const end = buffer.subarray(0, filled).indexOf(10);
    if (end === -1) {
      if (filled < window) return undefined;
      window *= 4;
      continue;
    }
    const line = decodeLine(buffer, 0, end);
    if (line !== undefined && line.seq >= seq) {
      found = line.seq === seq ? { seq, offset: at, crc: line.crc } : undefined;
      break;
    }
    if (offset !== undefined) return undefined;
    at += end + 1;
  }
  return found;
}

const snapshotSchema = z.object({
  version: z.number(),
  offset: z.int().nonnegative(),
  mark: z.string(),
  state: z.unknown(),
});

function snapshotPath({ agentFolder, name }: LogSnapshotFile): string {
  if (!/^[a-z][a-z0-9_-]*$/.test(name))
    throw new StoreUsageError(`"${name}" cannot be the name of a snapshot: use lower-case letters, digits, - and _.`);
  return join(agentFolder, "snapshots", `${name}.json`);
}
