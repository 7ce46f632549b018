import type { ChannelListener, Receive } from "../../mail/channels/channel.ts";
import { problemsOf, wordsSchema } from "../../mail/channels/receive.ts";
import type { OpenChannel } from "./open-channels.ts";
import type { DoorPorts } from "./webhook-door.ts";

export interface ChannelListeners {
  /** Those that could not begin, and why. */
  failed: readonly { channel: string; why: string }[];
  close(): Promise<void>;
}

/** Has every channel that can take something in begin to listen. One that fails keeps no other from it. */
export async function openListeners(
  channels: readonly OpenChannel[],
  agent: DoorPorts["agent"],
): Promise<ChannelListeners> {
  const failed: { channel: string; why: string }[] = [];
  const listeners: ChannelListener[] = [];
  for (const { name, listen } of channels) {
    try {
      if (listen) listeners.push(await listen(receiverFor(name, agent)));
    } catch (error) {
      failed.push({ channel: name, why: error instanceof Error ? error.message : String(error) });
    }
  }
  return {
    failed,
    close: async () => void (await Promise.allSettled(listeners.map(async (listener) => listener?.close()))),
  };
}

/** Whoever wrote the channel says who speaks there: what it hands in is the person's word. */
function receiverFor(channel: string, agent: DoorPorts["agent"]): Receive {
  return async (incoming) => {
    const parsed = wordsSchema.safeParse(incoming);
    if (!parsed.success) throw new Error(problemsOf(parsed.error));
    const words = parsed.data;
    const addressed = await agent(words.agent_id);
    const by = `channel:${channel}`;
    if ("response" in words) return addressed.respond(words.response, words.question_id, by);
    return addressed.send(words.message, words.to, by);
  };
}
