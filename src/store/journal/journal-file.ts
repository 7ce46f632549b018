import type { DiskFile } from "../disk/disk.ts";

export interface JournalFile {
  handle: DiskFile;
  path: string;
  /** Behind the last whole frame. */
  end: number;
  /** The file's size: frames, then zeros. */
  allocated: number;
}

/**
 * A write that extends the file costs the file system an additional transaction (measured: twice the CPU and latency), so
 * the file is extended rarely, by zeros that are written with a frame. Readers take zeros for the end.
 */
export function roomAhead(file: JournalFile, frame: Buffer, limit: number): Buffer {
  const end = file.end + frame.length;
  if (end <= file.allocated) return frame;
  file.allocated = end + Math.min(Math.max(file.allocated, limit >> 7), limit >> 3);
  const padded = Buffer.alloc(file.allocated - file.end);
  frame.copy(padded);
  return padded;
}
