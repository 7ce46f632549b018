import type { NodeState, WorkerState } from "../../projections/index.ts";
import { NO_USAGE, type Outcome } from "../../protocol/index.ts";
import { publishAnswer } from "../publishing.ts";
import type { Desk } from "../taking-up.ts";

/** One answer was asked for: what it said last is that answer. */
export function publishWords(node: NodeState, worker: WorkerState, desk: Desk, text: string): Promise<Outcome> {
  const details = { model: worker.spawned.model, usage: NO_USAGE, cost_usd: 0, finish: "stop" };
  const publish = publishAnswer(node, desk.scope, desk.port);
  return publish({ reply: { role: "assistant", content: [{ type: "text", text }], ...details }, inARow: 1 });
}

/** It will not publish, however often it is asked; what there is may be all the same what was wanted. */
export async function publishAsItIs({ port }: Desk, words: string, turns: number): Promise<Outcome> {
  const summary = words.trim().slice(0, 2000) || "(no words)";
  const published = await port.publish(summary, "", "must have ended");
  if (published.ok) return { kind: "published", summary };
  return { kind: "failed", error: `It ended its turn ${turns} times and never published: ${published.reason}` };
}
