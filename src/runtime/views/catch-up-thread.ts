import { parentPort, workerData } from "node:worker_threads";
import type { AgentId } from "../../protocol/index.ts";
import { openStore } from "../../store/open-store.ts";
import { saveSituation, situationOf } from "../state/situations.ts";

/**
 * Runs in a thread: receives an agent's id, writes its snapshots, returns its id. The caller that needs it finds out
 * why it failed.
 */
const { root }: { root: string } = workerData;
const store = await openStore({ root, clock: { now: () => 0 }, readOnly: true, savesSnapshots: true });

let last = Promise.resolve();
parentPort?.on("message", (id: AgentId) => {
  last = last.then(() => catchUp(id)).catch(() => {});
  void last.then(() => parentPort?.postMessage(id));
});

async function catchUp(id: AgentId): Promise<void> {
  const before = store.repairs.length;
  const log = await store.open(id);
  try {
    const now = await situationOf(log);
    // What is damaged has to be recorded by the process that writes the log: it must find it there itself.
    if (store.repairs.length === before) await saveSituation(log, now);
  } finally {
    await log.close();
  }
}
