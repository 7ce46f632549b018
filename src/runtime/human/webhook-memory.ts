import { REMEMBERED_MS, ReceivedIds } from "../../mail/channels/receive-webhook.ts";
import { ReceivedFile } from "../../store/home/received-file.ts";

/** What this home recently accepted by webhook, by any address and in any process. */
export function webhookMemory(home: string, now: number): ReceivedIds {
  const file = new ReceivedFile(home, REMEMBERED_MS);
  return new ReceivedIds(now, { kept: file.load(now), keep: (received) => file.add(received) });
}
