import type { Channel } from "./channel.ts";
import { type PostAddress, postingChannel } from "./posting-channel.ts";
import type { Utterance } from "./utterance.ts";

/** For any program that accepts JSON: the whole message, signed. */
export function webhookChannel(address: PostAddress, now: () => number): Channel {
  return postingChannel(address, now, webhookBody);
}

export function webhookBody({ delivery, topic, agent, from, ts, of, text, ...more }: Utterance): unknown {
  const at = new Date(ts * 1000).toISOString();
  const { choices, deadline_ts, default: fallback, permission, ended } = more;
  const head = { version: 1, delivery, agent, from, at };
  if (topic === "messages") return { ...head, kind: "message", message: { id: of, text } };
  if (topic === "ends") return { ...head, kind: "end", end: { run_id: of, status: ended, text } };
  const question = {
    id: of,
    text,
    ...(choices && { choices }),
    ...(deadline_ts !== undefined && { deadline: new Date(deadline_ts * 1000).toISOString() }),
    ...(fallback !== undefined && { default: fallback }),
    ...(permission && { permission }),
  };
  return { ...head, kind: "question", question };
}
