import { z } from "zod";
import type { Scrubber } from "../../boundary/scrubber.ts";
import type { Channel, Delivery } from "../../mail/channels/channel.ts";
import { type OpenChannel, topicsOf } from "../human/open-channels.ts";

const MAX_WHY = 500;

const deliverySchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("delivered") }),
  z.object({ kind: z.literal("refused"), why: z.string() }),
  z.object({ kind: z.literal("failed"), why: z.string(), retryAfterMs: z.number().nonnegative().optional() }),
]);

/**
 * Wraps a channel that somebody else wrote, so that it behaves as the postman needs.
 *
 * ADDED-CHANNEL-1. An attempt ends with its signal, whether the channel honours it or not.
 * ADDED-CHANNEL-2. Whatever it throws or returns becomes a delivery or a failure with a reason, without secrets and of
 *     limited length.
 */
export function guardedChannel(channel: Channel, scrubber: Scrubber): OpenChannel {
  const why = (words: string) => scrubber.text(words).slice(0, MAX_WHY);
  async function deliver(...[said, signal]: Parameters<Channel["deliver"]>): Promise<Delivery> {
    const { promise: stopped, resolve } = Promise.withResolvers<Delivery>();
    const stop = () => resolve({ kind: "failed", why: "it did not answer in time" });
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return sound(await Promise.race([channel.deliver(said, signal), stopped]), why);
    } catch (error) {
      return { kind: "failed", why: why(error instanceof Error ? error.message : String(error)) };
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
  const { name, listen } = channel;
  return {
    name,
    to: topicsOf(channel),
    deliver,
    ...(listen && { listen: (receive) => listen.call(channel, receive) }),
  };
}

function sound(given: unknown, why: (words: string) => string): Delivery {
  const parsed = deliverySchema.safeParse(given);
  if (!parsed.success)
    return { kind: "failed", why: 'the channel returned something that is not a delivery, e.g. {kind: "delivered"}' };
  const { data } = parsed;
  if (data.kind === "delivered") return data;
  if (data.kind === "refused") return { ...data, why: why(data.why) };
  const { retryAfterMs } = data;
  return { kind: "failed", why: why(data.why), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
