import type { ChannelTopic } from "../../protocol/index.ts";
import type { IncomingWords } from "./receive-webhook.ts";
import type { Utterance } from "./utterance.ts";

/**
 * A way to reach the human outside Agiraph. The runtime decides what is delivered, in which order, how often it is
 * retried and what is recorded (`runtime/human/postman.ts`); a channel makes one attempt at a time.
 */
export interface Channel {
  /** Lower-case letters, digits, - and _. It is part of facts and of delivery ids, so keep it once it is in use. */
  readonly name: string;
  /** What it delivers: `questions`, `messages`, `ends`. Everything if left out. */
  readonly to?: readonly ChannelTopic[];
  /** One try. A rejection counts as `failed`: it is tried again. Stop when the signal aborts. */
  deliver(said: Utterance, signal: AbortSignal): Promise<Delivery>;
  /**
   * Takes in what the human writes there. Called once, while a process works in the home; `receive` resolves with what
   * to tell them, and rejects with what is wrong. The returned listener is closed with the runtime.
   */
  listen?(receive: Receive): Promise<ChannelListener>;
  /** Releases what the channel holds. Called once, when the runtime closes. */
  close?(): Promise<void>;
}

export type Delivery =
  | { kind: "delivered" }
  /** It would be refused again: it is given up, and recorded as failed. */
  | { kind: "refused"; why: string }
  /** It is tried again, and not before `retryAfterMs`. */
  | { kind: "failed"; why: string; retryAfterMs?: number };

export type Receive = (words: IncomingWords) => Promise<string>;

export interface ChannelListener {
  close(): void | Promise<void>;
}

/** Type-checks a channel where it is defined. */
export function defineChannel(channel: Channel): Channel {
  return channel;
}
