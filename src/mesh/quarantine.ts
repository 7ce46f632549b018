import { writeFileSync } from "node:fs";
import type { QueueName } from "./layout.ts";
import type { Queues } from "./queue.ts";

/** Out of the way, with the reason beside it: `x.md` and `x.reason.md`. The name it has there. */
export function quarantine(queues: Queues, from: QueueName, name: string, why: string): string | undefined {
  const aside = queues.move(name, from, "quarantine");
  if (aside === undefined) return undefined;
  const words = `${why}\n\nIt came by ${from}/ as ${name}. Mend it and move it back there.\n`;
  try {
    writeFileSync(queues.path("quarantine", aside.replace(/\.md$/, ".reason.md")), words);
  } catch {
    // The reason is also in the log; a message that is aside without it is still aside.
  }
  return aside;
}
