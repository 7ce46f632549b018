import { close, fdatasync, open, write } from "node:fs";
import { promisify } from "node:util";

const opening = promisify(open);
const writing = promisify(write);
const syncing = promisify(fdatasync);
const closing = promisify(close);

/**
 * A file of JSON lines whose `append` resolves when the records are on the disk: what the floors keep, and what a
 * peer that brings no persistence of its own is given. One write and one fdatasync an append, nothing shared.
 */
export async function openJournal(path) {
  const file = await opening(path, "a");
  return {
    async append(...records) {
      let lines = "";
      for (const record of records) lines += `${JSON.stringify(record)}\n`;
      await writing(file, lines);
      await syncing(file);
    },
    close: () => closing(file),
  };
}
