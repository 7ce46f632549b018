import type { ChannelListener, Receive } from "../../mail/channels/channel.ts";
import { problemsOf, receivedWordsSchema } from "../../mail/channels/receive-webhook.ts";
import type { OpenChannel } from "./open-channels.ts";
import { commandIn, type WebhookPorts } from "./webhook-handler.ts";

export interface ChannelListeners {
  /** Those that could not begin, and why. */
  failed: readonly { channel: string; why: string }[];
  close(): Promise<void>;
}

/** Starts every channel that can receive messages. If one fails, the others still start. */
export async function openListeners(
  channels: readonly OpenChannel[],
  execute: WebhookPorts["execute"],
): Promise<ChannelListeners> {
  const failed: { channel: string; why: string }[] = [];
  const listeners: ChannelListener[] = [];
  for (const { name, listen } of channels) {
    try {
      if (listen) listeners.push(await listen(receiverFor(name, execute)));
    } catch (error) {
      failed.push({ channel: name, why: error instanceof Error ? error.message : String(error) });
    }
  }
  return {
    failed,
    close: async () => void (await Promise.allSettled(listeners.map(async (listener) => listener?.close()))),
  };
}

/** The author of the channel decides who speaks there: what it hands in is the person's word. */
function receiverFor(channel: string, execute: WebhookPorts["execute"]): Receive {
  return async (incoming) => {
    const parsed = receivedWordsSchema.safeParse(incoming);
    if (!parsed.success) throw new Error(problemsOf(parsed.error));
    const { detail } = await execute(commandIn(parsed.data), { kind: "human", via: `channel:${channel}` });
    return detail;
  };
}
