import { mkdirSync, writeFileSync } from "node:fs";
import type { QueueName } from "./layout.ts";
import { fitting, stemOf } from "./message-names.ts";
import type { Queues } from "./queue.ts";

/**
 * Out of the way, with the reason beside it: `x.md` and `x.reason.md`. The name it has there, or undefined when it was not
 * there to be moved. The reason is written first: killed in between, it is written again, and nothing lies there without.
 */
export function quarantine(queues: Queues, from: QueueName, name: string, why: string): string | undefined {
  const aside = queues.freeName("quarantine", fitting(stemOf(name), ".md", ROOM), isReason);
  const words = `${why}\n\nIt came by ${from}/ as ${name}. Fix it and move it back there.\n`;
  mkdirSync(queues.dir("quarantine"), { recursive: true });
  writeFileSync(queues.path("quarantine", reasonOf(aside)), words);
  return queues.moveAs(name, from, "quarantine", aside) ? aside : undefined;
}

export function reasonOf(name: string): string {
  return `${stemOf(name)}${REASON}`;
}

const REASON = ".reason.md";
/** For a name, so that its reason has room as well. */
const ROOM = 230;

/** A message that is called like a reason would be one there. */
function isReason(name: string): boolean {
  return name.endsWith(REASON);
}
