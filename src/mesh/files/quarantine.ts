import { mkdirSync, writeFileSync } from "node:fs";
import type { QueueName } from "./layout.ts";
import { fitting, stemOf } from "./message-names.ts";
import type { Queues } from "./queue.ts";

/**
 * Moves a file into quarantine with the reason beside it: `x.md` and `x.reason.md`. Returns its name there, or
 * undefined if the file was gone. The reason is written first, so that no file is ever there without one.
 */
export function quarantine(queues: Queues, from: QueueName, name: string, why: string): string | undefined {
  const aside = queues.freeName("quarantine", fitting(stemOf(name), ".md", ROOM), isReason);
  const words = `${why}\n\nIt came by ${from}/ as ${name}. Fix it and move it back there.\n`;
  mkdirSync(queues.dir("quarantine"), { recursive: true });
  writeFileSync(queues.path("quarantine", reasonFileOf(aside)), words);
  return queues.moveAs(name, from, "quarantine", aside) ? aside : undefined;
}

function reasonFileOf(name: string): string {
  return `${stemOf(name)}${REASON}`;
}

const REASON = ".reason.md";
/** The longest name, so that its reason has room as well. */
const ROOM = 230;

/** A message whose name ends like that of a reason would be taken for one. */
function isReason(name: string): boolean {
  return name.endsWith(REASON);
}
