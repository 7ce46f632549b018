import type { DiskFile } from "../disk/disk.ts";
import type { Repair } from "../store.ts";
import type { Damage } from "./damage.ts";
import { RecordOrder } from "./record-order.ts";
import { checkedLine, scanLines } from "./stream.ts";

/** The part of a log to read, and where damage is reported. */
export interface Records {
  file: DiskFile;
  path: string;
  from: number;
  to: number;
  damage: Damage;
  onRepair: (repair: Repair) => void;
  /** The number of the record before the first one, where it is known. */
  before?: number | undefined;
}

/** Returns false to stop; `end` is where the next record begins. */
export type OnRecord = (json: unknown, seq: number, end: number) => boolean;

const DAMAGED = "a record was damaged and is skipped";
const TWICE = "a record is there twice, or out of order; the later one is skipped. Nothing is lost if it is a copy";

/**
 * Complete records only, each number once and in order. A damaged record is set aside and skipped, and leaves a gap in
 * the numbers; so is a duplicate. Numbers that are missing without a trace are reported.
 */
export async function scanRecords(records: Records, onRecord: OnRecord): Promise<void> {
  const { file, path, from, to, damage, onRepair } = records;
  const order = new RecordOrder(records.before ?? (from === 0 ? 0 : undefined));
  const tell = (repair: Repair | undefined) => {
    if (repair !== undefined) onRepair(repair);
  };
  await scanLines(file, from, to, (buffer, start, end, offset) => {
    const line = checkedLine(buffer, start, end, path);
    const aside = (what: string) => tell(damage.setAside(path, offset, buffer.subarray(start, end + 1), what));
    if (line === undefined) {
      order.skip();
      aside(DAMAGED);
      return true;
    }
    const found = order.take(line.seq);
    if (found === "again") {
      aside(TWICE);
      return true;
    }
    if (found !== "next") tell(damage.missing(path, offset, found.from, found.to));
    return onRecord(JSON.parse(line.json), line.seq, offset + end - start + 1);
  });
}
